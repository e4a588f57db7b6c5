import type {Domain} from '../../shared/domain.ts';
import {dateText, timeText} from '../output/cell-text.ts';
import {columnsOf} from '../output/field.ts';
import type {Listed, Shown} from '../output/table.ts';
import {domainFields, settingNames} from './domain-fields.ts';

const columns = columnsOf(Object.values(domainFields));

export const domains: Listed<Domain> & Shown<Domain> = {
  fields: ['id', 'name', ...settingNames, 'created_at', 'updated_at'],
  nameOf: ({name}) => name,
  columns: [
    {title: 'ID', cell: domain => domain.id, align: 'right'},
    {title: 'NAME', cell: domain => domain.name, isFlexible: true},
    ...columns.filter(({isWideOnly}) => !isWideOnly),
    {title: 'UPDATED', cell: domain => timeText(domain.updated_at), brief: domain => dateText(domain.updated_at), dropRank: 1},
    ...columns.filter(({isWideOnly}) => isWideOnly),
    {title: 'CREATED', cell: domain => timeText(domain.created_at), isWideOnly: true},
  ],
  details: domain => [
    ['ID', domain.id],
    ['Name', domain.name],
    ...settingNames.map(name => [domainFields[name].label, domain[name]] as const),
    ['Created', timeText(domain.created_at)],
    ['Updated', timeText(domain.updated_at)],
  ],
  isShort: true,
  none: 'no domains; create one: mfctl domain create --help',
};
