import test from 'ava';
import type {Request} from '../../../../../cli/client/transport.ts';
import {driftOf} from '../../../../../cli/cluster/cluster-drift.ts';
import {cutOffText, seenSecondsAgo} from '../../../../../cli/cluster/node-condition.ts';
import {alarmsOf, changesBetween, changeText} from '../../../../../cli/dashboard/screens/cluster/alarms.ts';
import {agedStatus} from '../../../../../cli/dashboard/screens/cluster/cluster-sources.ts';
import {createArrivals, parseMetrics} from '../../../../../cli/dashboard/screens/cluster/figures.ts';
import {bar, createHistory, sparkline} from '../../../../../cli/dashboard/screens/cluster/history.ts';
import {nodePage} from '../../../../../cli/dashboard/screens/cluster/node-page.ts';
import type {ClusterStatus, Peer} from '../../../../../shared/cluster-status.ts';
import {fakeClient} from '../../../../helpers/cli/fake-client.ts';
import {clusterOf, otherHash, peer} from '../../../../helpers/dashboard/cluster-records.ts';
import {plainTheme, withoutStyle} from '../../../../helpers/dashboard/drawn.ts';

const drifted = (since: string, changes: Partial<Peer> = {}): ClusterStatus =>
  clusterOf(peer('mx1'), peer('mx2', {config_hash: otherHash, config_differs_since: since, ...changes}), peer('mx3'));

test('the node whose configuration differs from that of most is the odd one, whichever node answers', t => {
  const since = '2026-03-01T11:59:00.000Z';
  const asked = clusterOf(
    peer('mx1', {config_differs_since: since}),
    peer('mx2', {config_hash: otherHash}),
    peer('mx3', {config_differs_since: since}),
  );

  t.deepEqual(driftOf(drifted(since)), {isAlarm: false, oddNodes: ['mx2'], ageSeconds: 60});
  t.deepEqual(driftOf({...asked, local_node_id: 'mx2'}), {isAlarm: false, oddNodes: ['mx2'], ageSeconds: 60});
  t.is(driftOf(clusterOf(peer('mx1'), peer('mx2'))), undefined);
});

test('of two nodes that differ, the other one is the odd one', t => {
  const two = clusterOf(peer('mx1'), peer('mx2', {config_hash: otherHash}));

  t.deepEqual(driftOf(two)?.oddNodes, ['mx2']);
  t.deepEqual(driftOf({...two, local_node_id: 'mx2'})?.oddNodes, ['mx1']);
});

test('drift is an alarm after ten minutes, whenever a configuration last changed', t => {
  t.false(driftOf(drifted('2026-03-01T11:50:00.000Z', {config_hash_age_s: 90_000}))?.isAlarm);
  t.true(driftOf(drifted('2026-03-01T11:49:59.000Z', {config_hash_age_s: 1}))?.isAlarm);
  t.true(driftOf(drifted('2026-03-01T11:59:49.000Z'), 10)?.isAlarm);
});

test('a node without heartbeats or answers does not differ: its configuration is unknown', t => {
  const since = '2026-03-01T11:00:00.000Z';

  t.is(driftOf(drifted(since, {healthy: 'stale'})), undefined);
  t.is(driftOf(drifted(since, {unanswered_since: '2026-03-01T11:59:50.000Z'})), undefined);
});

test('a node before 0.5 does not say since when: neither has changed for that long', t => {
  const old = (ours: number, theirs: number): ClusterStatus => {
    const {config_differs_since: _, ...mx2} = peer('mx2', {config_hash: otherHash, config_hash_age_s: theirs});
    return clusterOf(peer('mx1', {config_hash_age_s: ours}), mx2 as Peer);
  };

  t.like(driftOf(old(90_000, 1)), {isAlarm: false, ageSeconds: 1});
  t.like(driftOf(old(601, 700)), {isAlarm: true, ageSeconds: 601});
});

test('a change of health is reported once, with nodes that came and went', t => {
  const before = clusterOf(peer('mx1'), peer('mx2'), peer('mx3'));
  const after = clusterOf(peer('mx1'), peer('mx2', {healthy: 'stale'}), peer('mx4'));

  const texts = changesBetween(before, after, 0).map(change => changeText(change).text);

  t.deepEqual(texts, [
    '◐ mx2 is stale; it was online',
    'mx3 is no longer in the cluster',
    'mx4 has joined the cluster and is online',
  ]);
  t.deepEqual(changesBetween(after, after, 0), []);
});

test('what is wrong is an alarm for as long as it is, by the clock of the node', t => {
  const {peers, ...status} = drifted('2026-03-01T11:49:00.000Z');
  const away = peer('mx9', {healthy: 'offline', license: {...peer('mx9').license, valid: false}});

  t.deepEqual(alarmsOf({...status, peers: [...peers, away]}), [
    {text: '✗ mx9 offline', tone: 'bad'},
    {text: '✗ mx2 configured unlike the rest', tone: 'bad'},
    {text: '! mx9 without a valid licence', tone: 'warn'},
  ]);
  t.deepEqual(alarmsOf(drifted('2026-03-01T11:59:55.000Z')), []);
});

test('a dead scanner without which mail is refused is an alarm, with the reason before the time, which is short', t => {
  const since = '2026-03-01T11:00:00.000Z';
  const problems = [{part: 'scanner', name: '', domains: [], since, detail: 'connection refused', refuses_mail: true}];

  t.deepEqual(alarmsOf(clusterOf(peer('mx1', {problems}), peer('mx2'))), [
    {text: '✗ the scanner of mx1 unreachable (connection refused) since 03-01 11:00Z: mail is answered 451', tone: 'bad'},
  ]);
});

test('a sparkline tells one from none, and what is not known from both', t => {
  t.is(sparkline([0, 1, 1000, undefined, 500], 7), '  ·▁█ ▄');
  t.is(sparkline([1, 2, 3, 4], 2), '▆█');
  t.is(sparkline([], 3), '   ');
  t.is(sparkline([0, 0], 2), '··');
  t.is(sparkline([1], 0), '');
});

test('a bar is never longer than its room, and something is never nothing', t => {
  t.is(bar(1, 10_000, 4), '█   ');
  t.is(bar(10, 10, 4), '████');
  t.is(bar(0, 10, 4), '    ');
  t.is(bar(0, 0, 4), '    ');
});

const minute = 60_000;
const clockAt = (startMs: number) => {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
};

test('verdicts are counted by the minute from totals, across a restart of the node', t => {
  const clock = clockAt(0);
  const history = createHistory(clock.now);

  history.addTotals({held: 100});
  clock.pass(minute);
  history.addTotals({held: 107});
  clock.pass(minute);
  history.addTotals({held: 2});
  clock.pass(2 * minute);

  const {from, byVerdict} = history.verdicts();
  t.is(from, 'metrics');
  t.deepEqual(byVerdict.get('held'), [0, 7, 2, 0, 0]);
});

test('without metrics, events are counted', t => {
  const history = createHistory(() => 0);
  history.addTotals({held: 100});
  history.loseTotals();

  history.addEvent('released');
  history.addEvent('released');

  const {from, byVerdict} = history.verdicts();
  t.is(from, 'events');
  t.deepEqual(
    [...byVerdict],
    [
      ['held', [0]],
      ['released', [2]],
      ['discarded', [0]],
    ],
  );
});

test('what is held stays as it was in minutes that nobody has asked in', t => {
  const clock = clockAt(0);
  const history = createHistory(clock.now);

  history.addHeld(5);
  history.addHeld(6);
  clock.pass(3 * minute);
  history.addHeld(2);

  t.deepEqual(history.held(), [6, 6, 6, 2]);
});

test('a dashboard that is open for weeks remembers three hours', t => {
  const clock = clockAt(0);
  const history = createHistory(clock.now);

  for (let n = 0; n < 21 * 24 * 60; n += 1) {
    clock.pass(minute);
    history.addHeld(n);
    history.addTotals({held: n});
    history.addChange({atMs: n, node: 'mx1', from: 'online', to: 'stale'});
  }

  t.is(history.held().length, 180);
  t.is(history.held().at(-1), 21 * 24 * 60 - 1);
  t.is(history.verdicts().byVerdict.get('held')?.length, 180);
  t.is(history.changes().length, 100);
});

test('each hour is asked for once, and the newest again', async t => {
  const clock = clockAt(Date.parse('2026-03-01T12:34:00Z'));
  const asked: string[] = [];
  const read = createArrivals({
    client: fakeClient({
      send: async <T>({query}: Request) => {
        asked.push(`${query?.since} ${query?.until} ${query?.limit}`);
        return {data: [] as T, etag: undefined, totalCount: asked.length, unreachableNodes: []};
      },
    }),
    now: clock.now,
    pause: async () => undefined,
  });
  const {signal} = new AbortController();

  const hours = await read(signal);
  t.is(asked.length, 24);
  t.is(asked[0], '2026-03-01T12:00:00.000Z undefined 1');
  t.is(asked[1], '2026-03-01T11:00:00.000Z 2026-03-01T12:00:00.000Z 1');
  t.deepEqual([hours.length, hours.at(-1), hours[0]], [24, 1, 24]);

  clock.pass(minute);
  await read(signal);
  t.is(asked.length, 25);

  clock.pass(30 * minute);
  await read(signal);
  t.deepEqual(asked.slice(25), ['2026-03-01T13:00:00.000Z undefined 1', '2026-03-01T12:00:00.000Z 2026-03-01T13:00:00.000Z 1']);
});

test('hours that could not be read are asked for the next time', async t => {
  let isAway = true;
  let asked = 0;
  const read = createArrivals({
    client: fakeClient({
      send: async <T>() => {
        asked += 1;
        if (isAway && asked > 5) throw new Error('away');
        return {data: [] as T, etag: undefined, totalCount: 1, unreachableNodes: []};
      },
    }),
    now: () => Date.parse('2026-03-01T12:34:00Z'),
    pause: async () => undefined,
  });
  const {signal} = new AbortController();
  await t.throwsAsync(read(signal));
  isAway = false;

  await read(signal);

  // The newest entry is requested twice, and so is the one that failed.
  t.is(asked, 24 + 2);
});

test('the figures of the metrics are found among the others', t => {
  const text = `# HELP mfd_build_info x
mfd_build_info{version="1.2.3"} 1
mfd_intake_verdicts_total{verdict="held"} 12
mfd_intake_verdicts_total{verdict="relayed"} 3456
mfd_held_mails{reason="spam"} 7
`;

  t.deepEqual(parseMetrics(text), {version: '1.2.3', verdicts: {held: 12, relayed: 3456}});
  t.deepEqual(parseMetrics('<html>'), {version: undefined, verdicts: {}});
});

test('ages in a status go on from when it was read', t => {
  const since = new Date(Date.parse(clusterOf().generated_at) - 32_000).toISOString();
  const status = clusterOf(peer('mx1', {config_hash_age_s: 7}), peer('mx2', {unanswered_since: since, last_seen: since}));

  const aged = agedStatus(status, 65_900);

  t.is(agedStatus(status, 900), status);
  t.is(aged.peers[0]?.config_hash_age_s, 72);
  t.deepEqual(
    aged.peers.map(node => seenSecondsAgo(aged, node)),
    status.peers.map(node => seenSecondsAgo(status, node) + 65),
  );
  t.deepEqual(alarmsOf(aged), [{text: '! no answer from mx2 for 97 s', tone: 'warn'}]);
  t.is(agedStatus({...status, generated_at: 'never'}, 65_900).generated_at, 'never');
});

test('a clock that is off is an alarm, and stands on the page of the node', t => {
  const nodes = [
    peer('mx1'),
    peer('mx2', {clock_skew_s: 45.2}),
    peer('mx3', {clock_skew_s: -90_000}),
    peer('mx4', {clock_skew_s: null}),
  ];
  const status = clusterOf(...nodes);
  const facts = {status, drift: undefined, certificates: new Map(), nowMs: 0};
  const more = {summary: undefined, changes: [], openedAtMs: 0, version: undefined};
  const shown = nodes.map(node =>
    nodePage(node, facts, more, plainTheme)
      .lines(100)
      .map(withoutStyle)
      .filter(line => line.startsWith('Clock'))
      .map(line => line.replace(/ +/g, ' ').trim()),
  );

  t.deepEqual(alarmsOf(status), [
    {text: '✗ the clock of mx3 is 25 h behind that of mx1', tone: 'bad'},
    {text: '! the clock of mx2 is 45 s ahead of that of mx1', tone: 'warn'},
  ]);
  t.deepEqual(shown, [[], ['Clock 45 s ahead of that of mx1'], ['Clock 25 h behind that of mx1'], ['Clock not known']]);
});

test('a node that does not answer, one whose changes are refused, and one that is cut off are alarms while they are online', t => {
  const since = new Date(Date.parse(clusterOf().generated_at) - 32_000).toISOString();
  const cutOff = {cut_off_since: '2026-03-01T09:00:00.000Z'};
  const status = clusterOf(peer('mx1', {outbox_refused: true}), peer('mx2', {unanswered_since: since}), peer('mx3', cutOff));

  t.deepEqual(alarmsOf(status), [
    {text: `✗ ${cutOffText(peer('mx3', cutOff))}`, tone: 'bad'},
    {text: '✗ mx1 has changes that another node refuses', tone: 'bad'},
    {text: '! no answer from mx2 for 32 s', tone: 'warn'},
  ]);
});
