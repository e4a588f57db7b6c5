import test from 'ava';
import {createClusterChanges} from '../../../cli/cluster/cluster-watch.ts';
import type {Peer} from '../../../shared/cluster-status.ts';
import {clusterStatus, peer} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

const mx1 = peer('mx1');
const mx2 = peer('mx2');
const other = `sha256:${'b'.repeat(64)}`;

/** Answers with one status after the other, and then with the last. */
const scripted = (...replies: (Reply | Peer[])[]) => {
  let last: Reply = {};
  return (): Reply => {
    const next = replies.shift();
    if (next !== undefined) last = Array.isArray(next) ? {data: clusterStatus(next)} : next;
    return last;
  };
};

const parsed = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));

test('only what people watch for is a change, and each names what was before', t => {
  const changes = createClusterChanges();
  const since = (...peers: Peer[]) => changes.since(clusterStatus(peers)).map(({node_id, changed}) => [node_id, ...changed]);

  t.deepEqual(since(mx1, mx2), [
    ['mx1', 'seen'],
    ['mx2', 'seen'],
  ]);
  t.deepEqual(since({...mx1, last_seen: '2026-03-01T12:00:00.000Z', config_hash_age_s: 5}, mx2), []);
  t.deepEqual(since(mx1, {...mx2, healthy: 'stale', outbox_backlog_to_us: 3}), [['mx2', 'health', 'backlog']]);
  t.deepEqual(since(mx1, {...mx2, license: {...mx2.license, valid: false}}), [['mx2', 'health', 'backlog', 'license']]);
  const cutOff = {...mx1, cut_off_since: '2026-03-01T09:00:00.000Z'};
  t.deepEqual(since(cutOff, mx2), [
    ['mx1', 'contact'],
    ['mx2', 'license'],
  ]);
  t.deepEqual(since(mx1), [
    ['mx1', 'contact'],
    ['mx2', 'removed'],
  ]);
  t.deepEqual(since(mx1, mx2), [['mx2', 'seen']]);
});

test('a node whose configuration is not that of most differs, and drifts when that lasts', t => {
  const changes = createClusterChanges();
  const mx3 = peer('mx3');
  const drifts = (...peers: Peer[]) =>
    changes.since(clusterStatus(peers)).map(({node_id, drift, changed}) => [node_id, drift, ...changed]);
  changes.since(clusterStatus([mx1, mx2, mx3]));

  const differing = (seconds: number): Peer => {
    const config_differs_since = new Date(Date.parse(clusterStatus([]).generated_at) - seconds * 1000).toISOString();
    return {...mx2, config_hash: other, config_differs_since};
  };

  t.deepEqual(drifts(mx1, differing(0), mx3), [['mx2', 'differs', 'config', 'drift']]);
  t.deepEqual(drifts(mx1, differing(601), mx3), [['mx2', 'drift', 'drift']]);
  t.deepEqual(drifts(mx1, mx2, mx3), [['mx2', 'none', 'config', 'drift']]);
});

test('a terminal gets a row for each node, and one for each change', async t => {
  const api = await startApi(t, {
    'GET /cluster/status': scripted([mx1, mx2], [mx1, mx2], [mx1, {...mx2, healthy: 'offline', outbox_backlog_to_us: 7}]),
  });

  const {code, stdout, stderr} = await api.mfctl(['cluster', 'watch', '--interval', '1s', '--limit', '3'], {
    columns: 140,
    env: {NO_COLOR: '1'},
  });

  t.is(code, 0);
  t.is(stderr, '');
  t.is(
    stdout,
    [
      'AT                    NODE        HEALTH   CONFIG        DRIFT    BACKLOG  LICENSE           CHANGE',
      '2026-03-01T09:30:00Z  mx1         online   aaaaaaaaaaaa  -              0  community active  -',
      '2026-03-01T09:30:00Z  mx2         online   aaaaaaaaaaaa  -              0  community active  -',
      '2026-03-01T09:30:00Z  mx2         offline  aaaaaaaaaaaa  -              7  community active  health online -> offline, backlog 0 -> 7',
      '',
    ].join('\n'),
  );
});

test('a pipe gets the node as the status has it, with what has changed', async t => {
  const api = await startApi(t, {'GET /cluster/status': scripted([mx1], [{...mx1, config_hash: other}])});

  const {stdout} = await api.mfctl(['cluster', 'watch', '--interval', '1s', '--limit', '2']);

  const at = '2026-03-01T09:30:00.000Z';
  t.deepEqual(parsed(stdout), [
    {...mx1, drift: 'none', at, changed: ['seen'], change: ''},
    {...mx1, config_hash: other, drift: 'none', at, changed: ['config'], change: 'config aaaaaaaa -> bbbbbbbb'},
  ]);
});

test('a node that goes away and comes back is said to, and is watched on', async t => {
  const stopping: Reply = {status: 503, error: {code: 'unavailable', detail: 'the node is stopping'}};
  const api = await startApi(t, {
    'GET /cluster/status': scripted([mx1], stopping, stopping, {status: 502, raw: '<html>'}, [{...mx1, outbox_backlog_to_us: 1}]),
  });

  const {code, stdout, stderr} = await api.mfctl(['cluster', 'watch', '--interval', '1s', '--limit', '2']);

  t.is(code, 0);
  t.is(parsed(stdout).length, 2);
  t.regex(
    stderr,
    /^warning: no answer since \S+Z: the node is stopping; retrying\nanswers again at \S+Z; changes in between show now\n$/,
  );
});

test('the first connection must succeed, and a key that ends ends the watch', async t => {
  const error = {code: 'key_revoked', detail: 'the key was revoked'};
  const api = await startApi(t, {'GET /cluster/status': scripted([mx1], {status: 401, error})});

  t.is((await api.mfctl(['cluster', 'watch', '--url', 'https://127.0.0.1:1'])).code, 7);
  const {code, stderr} = await api.mfctl(['cluster', 'watch', '--interval', '1s']);
  t.is(code, 4);
  t.regex(stderr, /key_revoked/);
});

test('it ends with 130 at Ctrl-C and with 0 after --for, also while a request is under way', async t => {
  const interrupts = new EventTarget();
  const api = await startApi(t, {
    'GET /cluster/status': () => {
      interrupts.dispatchEvent(new Event('interrupt'));
      return {isHeld: true};
    },
  });

  t.is((await api.mfctl(['cluster', 'watch'], {interrupts})).code, 130);
  t.is((await api.mfctl(['cluster', 'watch', '--for', '1s'])).code, 0);
  t.is((await api.mfctl(['cluster', 'watch', '--for', '1s', '--limit', '1'])).code, 3);
  t.is((await api.mfctl(['cluster', 'watch', '--interval', '0s'])).code, 2);
});
