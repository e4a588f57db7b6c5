// A server in the place of a stopped node, with that node's certificate and wrong answers to every request.
import type {ServerResponse} from 'node:http';
import type {ClusterNode} from '../helpers/cluster.ts';
import type {Owner} from '../helpers/daemon.ts';
import {standIn} from '../helpers/false-peer.ts';
import {bend, written} from './bend.ts';
import {heartbeat} from './hostile-peer-input.ts';
import type {Random} from './random.ts';

/** Rounds of the incoming requests are separate from those of the sessions. */
const firstRound = 1_000_000_000;

export const startHostilePeer = async (
  owner: Owner,
  node: ClusterNode,
  randomOf: (round: number) => Random,
): Promise<{count(): number}> => {
  let count = 0;
  await standIn(owner, node, (path, request, response) => {
    count += 1;
    request.resume();
    answer(randomOf(firstRound + count), path, response);
  });
  return {count: () => count};
};

const answer = (random: Random, path: string, response: ServerResponse): void => {
  const kind = random.next();
  if (kind < 0.02) {
    response.destroy();
    return;
  }
  const data = random.chance(0.4) ? rightData(random, path) : bend(random, rightData(random, path));
  const envelope = {data, error: null, message: 'OK'};
  const failure = {
    data: null,
    error: {
      code: random.pick(['internal', 'not_found', 'conflict', '__proto__', 'rate_limited']),
      detail: 'x',
      request_id: 'x',
    },
    message: 'x',
  };
  const isFailure = random.chance(0.1);
  const body = written(random, isFailure ? failure : random.chance(0.9) ? envelope : bend(random, envelope));
  response.writeHead(
    isFailure ? random.pick([400, 403, 404, 409, 500, 502, 503, 504]) : random.pick([200, 200, 200, 200, 201, 204, 302]),
    {
      'Content-Type': random.chance(0.9) ? 'application/json' : random.pick(['text/rfc822', 'text/html', '']),
      ...(random.chance(0.1) && {'Content-Length': random.pick([0, body.length, body.length + 10])}),
    },
  );
  if (kind < 0.05) {
    response.write(body.subarray(0, body.length >> 1));
    setImmediate(() => response.destroy());
  } else response.end(body);
};

const rightData = (random: Random, path: string): unknown => {
  const at = '2026-01-01T00:00:00.000Z';
  const node_id = random.chance(0.9) ? 'beta' : 'alpha';
  const mail = {
    node_id,
    queue_id: 'abcdef1',
    sender: 'a@b.test',
    recipients: ['c@d.test'],
    subject: 'x',
    size_bytes: 1,
    score: 8,
    symbols: [],
    reason: 'spam',
    arrived_at: random.pick([at, '9999-12-31T23:59:59.999Z', '0000-01-01T00:00:00.000Z']),
    domain: 'd.test',
  };
  const targets = {domainIds: [1_000_000_001], readerId: 1_000_000_002, queueId: 'abcdef1', applied: 3};
  const answers: Record<string, unknown> = {
    heartbeat: heartbeat(random, targets),
    events: {applied: random.pick([0, 1, 2, 100, 2 ** 48])},
    records: {applied: {1: 5, 2: 3}, records: [], next: random.chance(0.2) ? {kind: 'domain', id: 1} : null},
    digests: {digests: [['domain', 1_000_000_001, '0'.repeat(64)]], next: random.chance(0.2) ? {kind: 'domain', id: 1} : null},
    'hold/list': {mails: Array.from({length: random.pick([0, 1, 3])}, () => mail), total: random.pick([0, 1, 3, 2 ** 52])},
    'hold/marks': {marks: [{arrived_at: at, node_id, queue_id: 'abcdef1'}], total: random.pick([0, 1, 2 ** 52])},
    'hold/rank': {rank: random.pick([0, 1, 2 ** 52])},
    'hold/summary': {count: 1, size_bytes: 1, oldest_arrived_at: at, groups: []},
    'hold/get': {...mail, headers: [], symbol_scores: []},
    'hold/act': {node_id, queue_id: 'abcdef1', state: 'released', acted_at: at, acted_by_key_id: 1, already: false},
    'audit/list': {
      entries: [{node_id, seq: 1, at, key_id: 1, action: 'domain.create', target: '1', result: 'ok'}],
      total: 2 ** 40,
    },
    'audit/marks': {marks: [{at, node_id, seq: 1}], total: 1},
    'audit/rank': {rank: 0},
    removed: null,
  };
  return answers[path] ?? null;
};
