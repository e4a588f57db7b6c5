import test from 'ava';
import {initialList, shownRows} from '../../../../../cli/dashboard/list/list.ts';
import {parseListFilter} from '../../../../../cli/dashboard/list/list-query.ts';
import {auditList, auditPage} from '../../../../../cli/dashboard/screens/audit/audit-list.ts';
import {
  type AuditEvent,
  type AuditState,
  auditFault,
  auditParameters,
  auditReducer,
  auditTerms,
  emptyAudit,
  hasOlder,
  isNarrowedHere,
  knownCount,
} from '../../../../../cli/dashboard/screens/audit/audit-state.ts';
import type {Size} from '../../../../../cli/dashboard/shell/shell.ts';
import {CliError} from '../../../../../cli/errors.ts';
import type {AuditEntry} from '../../../../../shared/audit-entry.ts';
import {hostile} from '../../../../helpers/cli/sample-records.ts';
import {drawnList, fits, plainTheme, sizes, withoutStyle} from '../../../../helpers/dashboard/drawn.ts';

const entry = (seq: number, change: Partial<AuditEntry> = {}): AuditEntry => ({
  node_id: 'mx1',
  seq,
  at: new Date(Date.parse('2026-03-01T12:00:00Z') + seq * 1000).toISOString(),
  key_id: 7,
  key_name: 'admin',
  action: 'domain.update',
  target: `d${seq}.example`,
  remote_address: '192.0.2.1',
  result: 'ok',
  detail: 'quarantine_threshold',
  hash: 'ab'.repeat(32),
  ...change,
});

/** Newest first, in the order of the API. */
const entries = (from: number, to: number): AuditEntry[] => Array.from({length: to - from + 1}, (_, at) => entry(to - at));

const newest = (from: number, to: number, change: {total?: number; unreachable?: string[]} = {}): AuditEvent => ({
  kind: 'newest',
  page: {entries: entries(from, to), total: to, unreachable: [], ...change},
});

const after = (...events: AuditEvent[]): AuditState => events.reduce(auditReducer, emptyAudit);
const query = (text: string) => parseListFilter(text, auditTerms);
const listOf = (state: AuditState) => auditList(state, {failure: undefined, loadedAtMs: 0});
const textOf = (state: AuditState, size?: Size): string => drawnList(listOf(state), initialList, size);
const seqsOf = (state: AuditState, filter = ''): number[] => shownRows(listOf(state), {filter, order: 0}).map(({seq}) => seq);

test('new entries join those that are known, older ones follow on to them', t => {
  const known = after(newest(101, 200), newest(103, 202));

  t.is(knownCount(known), 102);
  t.true(hasOlder(known));
  const older = auditReducer(known, {
    kind: 'older',
    page: {entries: entries(1, 100), total: 202, unreachable: []},
    parameters: known.parameters,
  });
  t.deepEqual(
    seqsOf(older),
    entries(1, 202).map(({seq}) => seq),
  );
  t.false(hasOlder(older));
});

test('when more has arrived than a page holds, the list starts again and has no gap', t => {
  const state = after(newest(1, 100), newest(301, 400));

  t.deepEqual(
    seqsOf(state),
    entries(301, 400).map(({seq}) => seq),
  );
  t.true(hasOlder(state));
});

test('a node that goes or comes back makes the list start again, as its entries are anywhere in it', t => {
  const state = after(newest(1, 100), newest(51, 150), newest(60, 150, {unreachable: ['mx2']}));

  t.is(seqsOf(state).length, 91);
  t.regex(textOf(state), /! mx2 did not answer: entries are missing/);
});

test('older ones that were asked for with another filter, or with other nodes, are not taken', t => {
  const known = after(newest(101, 200), {kind: 'older-asked'});
  const page = {entries: entries(1, 100), total: 200, unreachable: []};

  t.is(auditReducer(known, {kind: 'older', page, parameters: {key_id: 1}}), known);
  const other = auditReducer(known, {kind: 'older', page: {...page, unreachable: ['mx2']}, parameters: known.parameters});
  t.is(knownCount(other), 100);
  t.is(other.older, 'failed');
});

test('what cannot be read is not asked for again until the newest could be read', t => {
  const failed = after(newest(101, 200), {kind: 'older-asked'}, {kind: 'older-failed'});

  t.is(failed.older, 'failed');
  t.is(auditReducer(failed, newest(101, 200)).older, 'idle');
});

test('an entry says which node was asked where that was another one, and no text after it can', t => {
  const relayed = entry(2, {node_id: 'mx1', detail: 'asked through mx2; 550 asked through mx9'});
  const own = entry(1, {detail: '550 refused; asked through mx9'});
  const state = after({kind: 'newest', page: {entries: [relayed, own], total: 2, unreachable: []}});

  const shown = textOf(state, {columns: 160, rows: 19});

  t.regex(shown, /mx1 .* 192\.0\.2\.1 via mx2 /);
  t.is(shown.match(/ via /g)?.length, 1);
  t.regex(auditPage(relayed, plainTheme).lines(78).map(withoutStyle).join('\n'), /From +192\.0\.2\.1 via mx2/);
});

test('a paused list takes older ones, and only counts new ones', t => {
  const paused = after(newest(101, 200), {kind: 'pause-toggled'}, newest(103, 202));

  const older = auditReducer(paused, {
    kind: 'older',
    page: {entries: entries(51, 102), total: 202, unreachable: []},
    parameters: paused.parameters,
  });

  t.regex(textOf(older), /paused, 2 new/);
  t.deepEqual(
    seqsOf(older),
    entries(51, 200).map(({seq}) => seq),
  );
});

test('the node is asked for what it can sort out, the rest is sorted out here', t => {
  t.deepEqual(auditParameters(query('key:7 action:key.revoke words'), 0), {key_id: 7, action: 'key.revoke'});
  t.deepEqual(auditParameters(query('key:admin action:quarantine since:2026-03-01'), 0), {since: '2026-03-01T00:00:00.000Z'});
  t.false(isNarrowedHere(query('key:7 action:key.revoke since:2h')));
  t.true(isNarrowedHere(query('action:quarantine')));
  t.regex(auditFault(query('since:lunch')) ?? '', /must be a time/);
  t.is(auditFault(query('since:2026-13-01')), 'since: there is no month 13');
});

test('an action without its second half is all that begin with it', t => {
  const page = {entries: [entry(3, {action: 'key.revoke'}), entry(2), entry(1, {action: 'keys'})], total: 3, unreachable: []};

  t.deepEqual(seqsOf(after({kind: 'newest', page}), 'action:key'), [3]);
});

test('another question to the node empties the list, a filter of this side does not', t => {
  const known = after(newest(1, 10));

  t.is(knownCount(auditReducer(known, {kind: 'filtered', parameters: {}})), 10);
  t.is(knownCount(auditReducer(known, {kind: 'filtered', parameters: {key_id: 7}})), 0);
});

test('hostile entries fit the screen at every size', t => {
  const hostileEntry = entry(1, {
    key_name: hostile,
    action: hostile,
    target: hostile.repeat(9),
    result: hostile,
    detail: '東京'.repeat(90),
    remote_address: hostile,
  });
  const page = {entries: [hostileEntry, ...entries(1, 80).slice(0, -1)], total: 80, unreachable: [hostile]};
  const state = after({kind: 'newest', page});
  const failure = new CliError('unreachable', hostile);

  for (const size of sizes) {
    fits(t, drawnList(auditList(state, {failure, loadedAtMs: 0}), initialList, size).split('\n'), size);
    fits(t, auditPage(hostileEntry, plainTheme).lines(size.columns), {...size, rows: 1000});
  }
});

test('what was refused is marked, and one entry is shown with its hash', t => {
  const refused = entry(2, {result: 'conflict'});
  const state = after({kind: 'newest', page: {entries: [refused, entry(1)], total: 2, unreachable: []}});

  t.regex(textOf(state), /d2\.example +✗ conflict/);
  t.regex(textOf(state), /d1\.example +✓ ok/);
  t.true(auditPage(refused, plainTheme).lines(78).map(withoutStyle).join('\n').includes('ab'.repeat(32)));
});
