import type {Command} from 'commander';
import type {AuditEntry} from '../../shared/audit-entry.ts';
import {pastMoment} from '../moment.ts';
import {pageLimit, wholeNumber} from '../option-values.ts';
import {briefTimeText, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import {notePage, warnOfPartialList} from '../output/page-notes.ts';
import type {Listed} from '../output/resource.ts';
import type {Session} from '../session.ts';

interface AuditFlags {
  limit?: number;
  offset?: number;
  since?: string;
  keyId?: number;
  action?: string;
}

const columns: Column<AuditEntry>[] = [
  {title: 'AT', cell: entry => timeText(entry.at), brief: entry => briefTimeText(entry.at)},
  {title: 'NODE', cell: entry => entry.node_id, dropRank: 2},
  {title: 'KEY', cell: entry => keyText(entry)},
  {title: 'ACTION', cell: entry => entry.action},
  {title: 'TARGET', cell: entry => entry.target, isFlexible: true},
  {title: 'RESULT', cell: entry => entry.result, tone: entry => (entry.result === 'ok' ? undefined : 'warn')},
  {title: 'FROM', cell: entry => entry.remote_address, dropRank: 1},
  {title: 'DETAIL', cell: entry => entry.detail, isFlexible: true, dropRank: 3},
  {title: 'SEQ', cell: entry => entry.seq, align: 'right', isWideOnly: true},
  {title: 'KEY ID', cell: entry => entry.key_id, align: 'right', isWideOnly: true},
];

const auditEntries: Listed<AuditEntry> = {
  fields: [
    ...['node_id', 'seq', 'at', 'key_id', 'key_name', 'action', 'target'],
    ...['remote_address', 'result', 'detail', 'hash'],
  ],
  nameOf: ({node_id, seq}) => `${node_id}:${seq}`,
  columns,
  none: 'no audit entries',
};

export const addAuditCommand = (program: Command, session: Session): void => {
  session
    .prints(program.command('audit'), auditEntries)
    .description('list who did what, newest first')
    .option('--since <time>', 'at or after this time: 2026-03-01T00:00:00Z, or 2h and 3d before now', pastMoment)
    .option('--key-id <id>', 'done with the key of this id', wholeNumber)
    .option('--action <action>', 'only this action, such as quarantine.release')
    .option('--limit <number>', 'at most so many, up to 1000 (default: 100)', pageLimit)
    .option('--offset <number>', 'leave out so many at the beginning', wholeNumber)
    .addHelpText('after', '\nExample:\n  mfctl audit --since 1d --action quarantine.release')
    .action(async ({keyId, ...flags}: AuditFlags) => {
      const client = await session.client();
      const answer = await client.send<AuditEntry[]>({path: 'audit', query: {...flags, key_id: keyId}});
      session.printer().list(answer.data, auditEntries);
      notePage(session, answer, flags.offset, 'audit entries');
      warnOfPartialList(session, answer);
    });
};

const keyText = ({key_id, key_name}: AuditEntry): string | null => (key_id === null ? null : (key_name ?? String(key_id)));
