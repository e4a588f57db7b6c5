import {setTimeout as delay} from 'node:timers/promises';
import test from 'ava';
import {createAwaitReplication} from '../../../daemon/common-store/await-nodes.ts';
import type {NodePresence} from '../../../daemon/services/common-store.ts';

const node = (id: number, node_id: string) =>
  ({id, node_id, fqdn: `${node_id}.test`, cluster_url: null, api_url: null, smtp_listen: null, created_at: ''}) as const;
const directory = {list: () => [node(1, 'alpha'), node(2, 'beta'), node(3, 'gamma')]};
const retention_ms = {spam: 0, phishing: 0, sandbox: 0, rbl: 0};
const present = (node_no: number, seq: number, ageSeconds = 1): NodePresence => ({
  ...{node_no, node_id: '', last_seen: '', ageSeconds, seq, retention_ms},
});

const waitFor = (presence: () => Promise<NodePresence[]>) =>
  createAwaitReplication({store: {presence}, directory, nodeNo: 1, lastSeq: () => 5, monotonic: () => performance.now()});

test('a change is awaited until the other nodes have it in memory', async t => {
  const presences = [present(2, 4), present(3, 5)];
  setTimeout(() => presences.splice(0, 1, present(2, 6)), 150);
  const beganAt = performance.now();

  t.deepEqual(await waitFor(async () => presences)(), []);

  t.true(performance.now() - beganAt >= 140);
});

test('a node that lags is named after two seconds', async t => {
  const beganAt = performance.now();

  t.deepEqual(await waitFor(async () => [present(2, 4), present(3, 5)])(), ['beta']);

  const ms = performance.now() - beganAt;
  t.true(ms >= 1990 && ms < 3000, `${ms} ms`);
});

test('a node that has long been silent, and one that never wrote, are named at once', async t => {
  const beganAt = performance.now();

  t.deepEqual(await waitFor(async () => [present(2, 4, 60)])(), ['beta', 'gamma']);

  t.true(performance.now() - beganAt < 500);
});

test('a store that does not answer confirms nothing', async t => {
  t.deepEqual(await waitFor(async () => Promise.reject(new Error('away')))(), ['beta', 'gamma']);
  t.deepEqual(await waitFor(async () => delay(3000, []))(), ['beta', 'gamma']);
});
