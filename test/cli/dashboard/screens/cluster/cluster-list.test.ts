import test from 'ava';
import {driftOf} from '../../../../../cli/cluster/cluster-drift.ts';
import {initialList} from '../../../../../cli/dashboard/list/list.ts';
import {type ClusterFacts, clusterList} from '../../../../../cli/dashboard/screens/cluster/cluster-list.ts';
import {createHistory} from '../../../../../cli/dashboard/screens/cluster/history.ts';
import {driftPage, nodePage} from '../../../../../cli/dashboard/screens/cluster/node-page.ts';
import type {Size} from '../../../../../cli/dashboard/shell/shell.ts';
import {createTheme} from '../../../../../cli/dashboard/shell/theme.ts';
import type {ClusterDrift} from '../../../../../shared/cluster-drift.ts';
import type {ClusterStatus} from '../../../../../shared/cluster-status.ts';
import type {Summary} from '../../../../../shared/held-mail.ts';
import {hostile} from '../../../../helpers/cli/sample-records.ts';
import {clusterOf, generatedAt, otherHash, peer} from '../../../../helpers/dashboard/cluster-records.ts';
import {drawnList, fits, withoutStyle} from '../../../../helpers/dashboard/drawn.ts';

const nowMs = Date.parse(generatedAt);
const theme = createTheme(true);
const sizes = [
  {columns: 60, rows: 10},
  {columns: 80, rows: 19},
  {columns: 120, rows: 35},
  {columns: 200, rows: 55},
];

const summary = (groups: Partial<Summary['groups'][number]>[]): Summary => ({
  count: groups.reduce((sum, {count = 0}) => sum + count, 0),
  size_bytes: 2048,
  oldest_arrived_at: null,
  groups: groups.map(group => ({
    domain: 'example.com',
    reason: 'spam',
    node_id: 'mx1',
    count: 1,
    size_bytes: 10,
    oldest_arrived_at: generatedAt,
    ...group,
  })),
});

const view = (status: ClusterStatus | undefined, changes: Partial<ClusterFacts> = {}): ClusterFacts => ({
  nodes: status && {status, drift: driftOf(status), certificates: new Map(), nowMs},
  loaded: {loadedAtMs: nowMs - 3000, failure: undefined},
  driftReport: undefined,
  held: {
    value: {summary: summary([{count: 30}, {reason: 'rbl', domain: hostile, count: 7}]), unreachableNodes: []},
    loadedAtMs: nowMs,
    failure: undefined,
  },
  arrivals: Array.from({length: 24}, (_, at) => (at === 3 ? undefined : at * 10)),
  metrics: undefined,
  history: createHistory(() => nowMs),
  refusal: undefined,
  mayReadMail: true,
  theme,
  ...changes,
});

const shown = (drawn: ClusterFacts, size?: Size, state = initialList): string =>
  drawnList(clusterList(drawn), state, size, nowMs);

test('whatever nodes say, the screen is as large as it is', t => {
  const many = Array.from({length: 100}, (_, n) => peer(`mx${n}`, {fqdn: hostile, api_url: hostile, config_hash: hostile + n}));
  const odd = [peer(hostile, {license: {valid: false, type: hostile, status: hostile, expires_at: 'never'}, last_seen: 'x'})];
  for (const size of sizes)
    for (const peers of [many, odd, [peer('mx1'), peer('mx2', {config_hash: otherHash})], []])
      fits(t, shown(view(clusterOf(...peers)), size).split('\n'), size);
});

test('a row says the state of a node with a glyph and a word', t => {
  const status = clusterOf(
    peer('mx1'),
    peer('mx2', {healthy: 'stale', last_seen: '2026-03-01T11:58:50.000Z', outbox_backlog_to_us: 12}),
    peer('mx3', {healthy: 'offline', license: {valid: false, type: 'x', status: 'y', expires_at: '2026-02-01T00:00:00Z'}}),
  );

  const text = shown(view(status));

  t.regex(text, /3 nodes · 1 online · 1 stale · 1 offline · backlog 12 · config equal +3s ago $/m);
  t.regex(text, /^ {3}\* +mx1 +● online +2s ago/m);
  t.regex(text, /^! +mx2 +◐ stale +70s ago .* 12 /m);
  t.regex(text, /^✗ +mx3 +✗ offline .* expired$/m);
});

test('an alarm marks the node that caused it, and no node that is only named in it', t => {
  const status = clusterOf(
    peer('mx1', {outbox_backlog_to_us: 101}),
    peer('mx2'),
    peer('mx3', {unreachable_from: ['mx2']}),
    peer('mx4', {license: {valid: false, type: 'x', status: 'y', expires_at: '2026-02-01T00:00:00Z'}, healthy: 'offline'}),
  );

  const text = shown(view(status));

  t.regex(text, /^! {2}\* +mx1 /m);
  t.regex(text, /^ +mx2 /m);
  t.regex(text, /^! +mx3 /m);
  t.regex(text, /^✗ +mx4 /m);
});

test('the end of a certificate is shown in days, with ? when it is not certain', t => {
  const status = clusterOf(peer('mx1'), peer('mx2'), peer('mx3'), peer('mx4'));
  const certificates = new Map([
    ['mx1', {endsAtMs: nowMs + 12.5 * 86_400_000, problem: undefined}],
    ['mx2', {endsAtMs: undefined, problem: 'ECONNREFUSED'}],
    ['mx3', {endsAtMs: nowMs + 86_400_000, problem: 'SELF_SIGNED_CERT_IN_CHAIN'}],
    ['mx4', {endsAtMs: nowMs - 1000, problem: undefined}],
  ]);
  const drawn = view(status);

  const text = shown({...drawn, nodes: drawn.nodes && {...drawn.nodes, certificates}});

  t.regex(text, /mx1 .* 12d +no end/);
  t.regex(text, /mx2 .* \? +no end/);
  t.regex(text, /mx3 .* \? +no end/);
  t.regex(text, /mx4 .* expired +no end/);
});

const report: ClusterDrift = {
  local_node_id: 'mx1',
  config_hash: otherHash,
  nodes: [
    {node_id: 'mx2', config_hash: otherHash, differs_since: generatedAt, differing_records: 2},
    {node_id: 'mx3', config_hash: '', differs_since: null, differing_records: null},
  ],
  records: [
    {
      node_id: 'mx2',
      kind: 'domain',
      id: 1,
      name: 'example.com',
      here: 'live',
      there: 'live',
      fields: [{name: 'quarantine_threshold', here: 6, there: 4.5}],
    },
    {node_id: 'mx2', kind: 'api_key', id: 2, name: hostile, here: 'live', there: 'deleted', fields: []},
  ],
  repairs: [],
  generated_at: generatedAt,
};

test('drift names the odd node and what differs, and is an alarm only when it lasts', t => {
  const young = clusterOf(peer('mx1'), peer('mx2', {config_hash: otherHash, config_differs_since: '2026-03-01T11:58:30.000Z'}));
  const old = clusterOf(peer('mx1'), peer('mx2', {config_hash: otherHash, config_differs_since: '2026-03-01T11:00:00.000Z'}));

  const mild = shown(view(young, {driftReport: report}));
  const alarm = shown(view(old, {driftReport: report}));

  t.regex(mild, /≠ configuration differs: mx2 differs from the rest for 90s \(22222222\)/);
  t.regex(mild, /domain example\.com at mx2: quarantine_threshold; api_key .* d shows all/);
  t.false(mild.includes('ALARM'));
  t.regex(alarm, /≠ ALARM: configuration drift/);
  t.regex(alarm, /mx2 .*≠ 22222222/);
});

test('the page of a drift shows both values, and nodes that were not compared', t => {
  const lines = driftPage(report, theme).lines(78);

  fits(t, lines, {columns: 78, rows: 100});
  const text = lines.map(withoutStyle).join('\n');
  t.regex(text, /≠ mx2 differs in 2 records since 2026-03-01T12:00:00Z/);
  t.regex(text, /\? mx3 did not answer, and was not compared/);
  t.regex(text, /quarantine_threshold.*\n +mx1 +6 +\n +mx2 +4\.5/);
  t.regex(text, /mx1 +the record is live +\n +mx2 +the record is deleted/);
});

test('the page of a node says everything about it, in lines that have room', t => {
  const status = clusterOf(peer('mx1', {fqdn: hostile}), peer('mx2', {config_hash: otherHash}));
  const {nodes} = view(status);
  if (!nodes) throw new Error('no facts');
  const changes = [{atMs: nowMs, node: 'mx1', from: 'online', to: 'stale'} as const];

  const page = nodePage(
    status.peers[0] ?? peer('mx1'),
    nodes,
    {summary: summary([{count: 30}]), changes, openedAtMs: nowMs, version: '1.2.3'},
    theme,
  );
  const lines = page.lines(58);

  fits(t, lines, {columns: 58, rows: 100});
  const text = lines.map(withoutStyle).join('\n');
  for (const part of ['● online', '1.2.3', '30 mails', 'community, active: no end', '◐ mx1 is stale; it was online'])
    t.true(text.includes(part), part);
});

test('figures say their scale in words', t => {
  const text = shown(view(clusterOf(peer('mx1'))));

  t.regex(text, /Held mail: 37 mails, 2\.0 KiB/);
  t.regex(text, /Held, by hour .*█ {2}now 230\/h, max 230\/h, last 24 h/);
  t.regex(text, /By the minute: events of the cluster/);
});

test('a sum that lacks a node says so', t => {
  const drawn = view(clusterOf(peer('mx1')));
  const held = {...drawn.held, value: {summary: summary([]), unreachableNodes: ['mx2']}};

  t.regex(shown({...drawn, held}), /WITHOUT mx2: no answer/);
});

test('a key that may not see the nodes sees why, and its mail', t => {
  const text = shown(view(undefined, {refusal: 'This quarantine-only key may not see the nodes'}));

  t.regex(text, /^This quarantine-only key may not see the nodes/m);
  t.regex(text, /Held mail: 37 mails/);
  t.notRegex(shown(view(undefined, {mayReadMail: false})), /Held mail/);
});

test('the row under the cursor is in sight, in a cluster of a hundred', t => {
  const status = clusterOf(...Array.from({length: 100}, (_, n) => peer(`node-${n}`)));

  t.regex(shown(view(status), undefined, {...initialList, position: {cursor: 77, top: 0}}), /node-77 /);
});
