// Audit entries as mfctl knows them: each of their fields is declared once.
import type {AuditEntry} from '../../shared/audit-entry.ts';
import {relayIn} from '../../shared/audit-relay.ts';
import {recipientKeyId} from '../../shared/recipient-key.ts';
import {briefTimeText, timeText} from '../output/cell-text.ts';
import {columnsOf, type Field} from '../output/field.ts';
import type {Listed} from '../output/table.ts';

const isOk = ({result}: AuditEntry): boolean => result === 'ok';

/** A deleted key has no name. An entry without a key is of the node or its operator, or of a recipient. */
export const keyText = (entry: AuditEntry): string => {
  const {key_id, key_name} = entry;
  if (key_id === null) return 'node';
  return key_id === recipientKeyId ? 'recipient' : (key_name ?? `key ${key_id}, deleted`);
};

/** In the order of columns. */
export const auditFields: readonly Field<AuditEntry>[] = [
  {
    label: 'At',
    cell: entry => timeText(entry.at),
    page: entry => entry.at,
    column: {brief: entry => briefTimeText(entry.at)},
  },
  {label: 'Node', cell: entry => entry.node_id, column: {dropRank: 2}, screen: {width: 10, grow: 1, dropRank: 5}},
  {
    label: 'Key',
    cell: entry =>
      entry.key_id === null ? null : entry.key_id === recipientKeyId ? keyText(entry) : (entry.key_name ?? String(entry.key_id)),
    page: entry => (entry.key_id === null ? 'none: the node or its operator' : keyText(entry)),
    column: {},
    screen: {width: 10, grow: 2, cell: keyText},
  },
  {label: 'Action', cell: ({action}) => action, column: {}, screen: {width: 18}},
  {label: 'Target', cell: ({target}) => target, column: {isFlexible: true}, screen: {width: 16, grow: 4}},
  {
    label: 'Result',
    cell: ({result}) => result,
    column: {tone: entry => (isOk(entry) ? undefined : 'warn')},
    screen: {
      width: 12,
      grow: 1,
      cell: entry => (isOk(entry) ? '✓ ok' : `✗ ${entry.result}`),
      style: entry => (isOk(entry) ? 'good' : 'bad'),
    },
  },
  {label: 'From', cell: entry => fromText(entry), column: {dropRank: 1}, screen: {width: 15, grow: 1, dropRank: 1}},
  {
    label: 'Detail',
    cell: ({detail}) => detail,
    column: {isFlexible: true, dropRank: 3},
    screen: {width: 16, grow: 4, dropRank: 2},
  },
  {label: 'Seq', cell: ({seq}) => seq, column: {align: 'right', isWideOnly: true}},
  {label: 'Key ID', cell: entry => entry.key_id, column: {align: 'right', isWideOnly: true}},
];

export const auditEntries: Listed<AuditEntry> = {
  fields: [
    ...['node_id', 'seq', 'at', 'key_id', 'key_name', 'action', 'target'],
    ...['remote_address', 'result', 'detail', 'hash'],
  ],
  nameOf: ({node_id, seq}) => `${node_id}:${seq}`,
  columns: columnsOf(auditFields),
  none: 'no audit entries',
};

/** The address of the client, and the node that relayed its request, if one did: `192.0.2.9 via mx2`. */
const fromText = ({remote_address, detail}: AuditEntry): string | null => {
  const relay = relayIn(detail);
  if (relay === undefined) return remote_address;
  return remote_address === null ? `via ${relay}` : `${remote_address} via ${relay}`;
};
