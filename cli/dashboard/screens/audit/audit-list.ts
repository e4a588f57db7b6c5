// List of audit entries, and the page of one entry.
import type {AuditEntry} from '../../../../shared/audit-entry.ts';
import {auditFields} from '../../../audit/audit-fields.ts';
import {countText} from '../../../output/cell-text.ts';
import {type List, screenColumns, type TuiColumn} from '../../list/list.ts';
import {clockText, dayText} from '../../list/moment-cells.ts';
import {detailPage, pairsOf} from '../../shell/fit-text.ts';
import type {Page} from '../../shell/modal.ts';
import type {Loaded} from '../../shell/source.ts';
import type {Theme} from '../../shell/theme.ts';
import {
  type AuditPage,
  type AuditRow,
  type AuditState,
  auditFault,
  auditLimit,
  type auditTerms,
  hasOlder,
  matchesAudit,
} from './audit-state.ts';
export const auditList = (state: AuditState, loaded: Pick<Loaded<AuditPage>, 'failure' | 'loadedAtMs'>): List<AuditRow> => {
  const {tail, total, unreachable} = state;
  const {failure, loadedAtMs} = loaded;
  return {
    ...{tail, rows: total === undefined ? undefined : tail.rows, failure, loadedAtMs},
    keyOf: ({key}) => key,
    columns: () => columns,
    head: () => ['Audit', ...(total === undefined ? [] : [`${countText(total)} entries`])],
    matches: matchesAudit,
    terms: termsOf(tail.rows),
    hint: 'words, action:, key:, node:, result: and since:2h',
    check: auditFault,
    banners:
      unreachable.length === 0 ? [] : [{text: `! ${unreachable.join(', ')} did not answer: entries are missing`, tone: 'warn'}],
    empty: ['No audit entries yet'],
    noneYet: hasOlder(state) && state.older !== 'failed' ? 'looking further back …' : undefined,
    ending: endingText(state),
  };
};

/** Values for completion: those of the loaded entries. */
const termsOf = (rows: readonly AuditRow[]): Record<(typeof auditTerms)[number], string[]> => ({
  action: rows.flatMap(({action}) => [action, action.replace(/\..*/, '')]),
  key: rows.flatMap(({key_name}) => key_name ?? []),
  node: rows.map(({node_id}) => node_id),
  since: ['1h', '1d', '7d'],
  result: rows.map(({result}) => result),
});

const endingText = (state: AuditState): string | undefined => {
  const {tail, total = 0, older} = state;
  if (older === 'asked') return '── older ones are being read … ──';
  if (older === 'failed') return '── older ones could not be read; r tries again ──';
  if (tail.rows.length === 0 || hasOlder(state)) return undefined;
  if (tail.rows.length >= auditLimit && total > auditLimit)
    return `── the latest ${countText(auditLimit)} of ${countText(total)}; narrow the filter to see earlier ones: since:, action:, key: ──`;
  return '── this is all there is ──';
};

const columns: TuiColumn<AuditRow>[] = [
  {title: 'DAY', cell: entry => dayText(entry.at), width: 5, dropRank: 4},
  {title: 'TIME', cell: entry => clockText(entry.at), width: 9},
  ...screenColumns(auditFields, undefined),
];

export const auditPage = (entry: AuditEntry, theme: Theme): Page =>
  detailPage(
    `Audit: ${entry.action}`,
    [
      ...pairsOf(auditFields, entry, undefined),
      ['Hash', entry.hash],
      ['', ''],
      ['', 'The hash is over this entry and the hash of the one before it on the same node.', 'dim'],
    ],
    theme,
  );
