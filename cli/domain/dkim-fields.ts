// DKIM keys as mfctl knows them. The rules for what is typed are the schemas in shared/dkim-key.ts.
import type {CreateDkimKey, DkimKey} from '../../shared/dkim-key.ts';
import {dkimAlgorithms} from '../../shared/field-rules.ts';
import type {TypedField} from '../command-line/field-options.ts';
import {dateText, timeText, zoneLine} from '../output/cell-text.ts';
import {columnsOf, detailsOf, type Field} from '../output/field.ts';
import type {Listed, Shown} from '../output/table.ts';

/** In the order of options, columns and forms. */
export const newDkimFields: Readonly<Record<keyof CreateDkimKey, Field<DkimKey> & TypedField<CreateDkimKey>>> = {
  selector: {
    label: 'Selector',
    hint: 'such as mfd2026: the record is published at SELECTOR._domainkey.DOMAIN',
    parse: text => text.trim(),
    options: [{flags: '--selector <selector>', description: 'name of the key in DNS, such as mfd2026', isMandatory: true}],
    given: ({selector}) => selector,
    cell: ({selector}) => selector,
    column: {},
  },
  algorithm: {
    label: 'Algorithm',
    hint: 'every receiver supports rsa-2048; use the shorter ed25519 in addition to it',
    choices: dkimAlgorithms,
    parse: text => text,
    options: [{flags: '--algorithm <algorithm>', description: 'kind of key (default: rsa-2048)', choices: dkimAlgorithms}],
    given: ({algorithm}) => algorithm,
    cell: ({algorithm}) => algorithm,
    column: {},
  },
};

const created: Field<DkimKey> = {
  label: 'Created',
  cell: key => timeText(key.created_at),
  column: {brief: key => dateText(key.created_at), dropRank: 1},
};

export const dkimKeys: Listed<DkimKey> & Shown<DkimKey> = {
  fields: ['id', 'domain_id', 'selector', 'algorithm', 'dns_name', 'dns_record', 'created_at'],
  nameOf: ({selector}) => selector,
  columns: [
    ...columnsOf(Object.values(newDkimFields)),
    {title: 'DNS NAME', cell: key => key.dns_name},
    ...columnsOf([created]),
    {title: 'ID', cell: key => key.id, align: 'right', isWideOnly: true},
    {title: 'DNS RECORD', cell: key => key.dns_record, isWideOnly: true},
  ],
  details: key => [...detailsOf([...Object.values(newDkimFields), created], key), ['DNS record', zoneLine(key)]],
  isShort: true,
  none: 'no DKIM keys',
};
