// Messages of a compromised cluster member: requests, events and answers in the right shape, altered in every way.
import {domainDefaults} from '../../shared/field-rules.ts';
import {bend, written} from './bend.ts';
import type {Random} from './random.ts';

export interface PeerInput {
  method: string;
  path: string;
  body: Buffer | undefined;
}

/** Existing objects of the attacked node that its peers may change. */
export interface PeerTargets {
  /** Domains and keys that may change freely. */
  domainIds: number[];
  /** The id of a read-only key. */
  readerId: number;
  queueId: string;
  /** The position up to which the node reports events as applied. */
  applied: number;
}

const hex = (value: number, length: number) => value.toString(16).padStart(length, '0');

const stampOf = (random: Random): string => {
  const ms = random.chance(0.7)
    ? Date.now() - random.between(0, 100_000)
    : random.pick([0, 1, Date.now() + 10 * 365 * 86_400_000, 0xe5_ffff_ffff, 2 ** 46]);
  return `${hex(ms, 12)}.${hex(random.between(0, 0xffff), 4)}.${hex(random.chance(0.8) ? 2 : random.pick([1, 3, 0xffff, 0]), 4)}`;
};

const anyId = (random: Random, {domainIds}: PeerTargets): number =>
  random.chance(0.6)
    ? 2_000_000_001 + random.between(0, 60)
    : random.pick([...domainIds, 3_000_000_001, 4_000_000_000, 1, 2, 3, 2 ** 52]);

/** Key ids are counted separately: a domain's id may be that of the good client's key. */
const nobodys = (targets: PeerTargets): PeerTargets => ({...targets, domainIds: []});

/** Node names in its events about nodes. The name of a member, created earlier, would remove that member. */
export const joinedNodes: readonly string[] = ['gamma', 'delta', '__proto__'];

const fieldsOf = (random: Random, kind: string, domainId: number): Record<string, unknown> => {
  const at = '2026-01-01T00:00:00.000Z';
  const all: Record<string, Record<string, unknown>> = {
    domain: {
      name: `d${random.between(0, 30)}.peer.test`,
      ...domainDefaults,
      backend_servers: ['mx.test:25'],
      created_at: at,
    },
    api_key: {
      name: 'of a peer',
      key_prefix: 'mfk_00000000',
      key_hash: 'x'.repeat(64),
      scope: random.pick(['full-admin', 'read-only', 'domain-admin']),
      rate_limit_per_minute: 600,
      domain: null,
      domain_id: null,
      expires_at: null,
      revoked_at: null,
      created_at: at,
    },
    mail_filter: {
      domain_id: domainId,
      action: 'block',
      match: 'subject',
      header: null,
      pattern: random.pick(['x', '*'.repeat(40), '(a+)+$']),
      score: null,
      comment: null,
      created_at: at,
    },
    dkim_key: {domain_id: domainId, selector: 's1', algorithm: 'ed25519', public_key: 'x', private_key_pem: 'x', created_at: at},
    node: {
      node_id: random.pick(joinedNodes),
      fqdn: 'a.test',
      cluster_url: 'https://127.0.0.1:1',
      api_url: null,
      created_at: at,
    },
  };
  return all[kind] ?? {x: 1};
};

const change = (random: Random, targets: PeerTargets): object => {
  const kind = random.pick(['domain', 'domain', 'api_key', 'mail_filter', 'dkim_key', 'node', 'future', '__proto__']);
  // A member may remove a node, or rename itself: this is not an attack but would end the experiment.
  const id = kind === 'node' ? random.pick([1, 3, 4, 65_535]) : anyId(random, kind === 'api_key' ? nobodys(targets) : targets);
  const isDeleted = random.chance(0.1) && !(kind === 'node' && id < 3);
  const stamp = stampOf(random);
  const fields = Object.entries(fieldsOf(random, kind, anyId(random, targets))).filter(() => random.chance(0.9));
  return {
    kind,
    id,
    fields: isDeleted
      ? {}
      : Object.fromEntries(fields.map(([name, value]) => [name, [random.chance(0.97) ? value : bend(random, value), stamp]])),
    deleted: isDeleted ? stamp : null,
  };
};

const events = (random: Random, targets: PeerTargets): object => {
  const first = random.chance(0.8)
    ? targets.applied + 1
    : random.pick([0, 1, targets.applied, targets.applied + 2, 2 ** 48, targets.applied + 20_000_000]);
  const count = random.chance(0.01) ? 1000 : random.between(0, 3);
  return {
    floor: random.chance(0.95) ? 0 : random.pick([targets.applied, targets.applied + 5, 2 ** 47]),
    events: Array.from({length: count}, (_, n) => ({
      seq: first + n,
      event: {stamp: stampOf(random), changes: Array.from({length: random.between(0, 3)}, () => change(random, targets))},
    })),
  };
};

export const heartbeat = (random: Random, {applied, readerId}: PeerTargets): Record<string, unknown> => ({
  node_id: random.chance(0.95) ? 'beta' : random.pick(['alpha', 'gamma', '__proto__']),
  node_no: random.chance(0.95) ? 2 : random.pick([1, 3]),
  version: '0.5.0',
  clock_ms: random.chance(0.9) ? Date.now() : random.pick([0, 2 ** 52]),
  config_hash: `sha256:${hex(random.between(0, 2 ** 30), 64)}`,
  config_hash_age_s: random.pick([0, 1, 2 ** 40]),
  last_seq: random.chance(0.9) ? applied : random.pick([0, 2 ** 48, applied + 100]),
  applied: {1: random.pick([0, 1, 5, 2 ** 48]), 2: applied, [random.pick(['3', '0', '65536', '99999'])]: 1},
  license: {valid: true, type: 'community', status: 'active', expires_at: '9999-12-31T23:59:59Z'},
  has_authority: random.chance(0.5),
  key_counts: {
    window: random.pick([0, Math.floor(Date.now() / 60_000), 2 ** 40]),
    counts: [[readerId, random.pick([0, 1, 2 ** 50])]],
  },
  key_uses: [[readerId, random.pick(['2026-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])]],
});

const questions = (random: Random, targets: PeerTargets): [path: string, body: unknown][] => {
  const reach = random.pick([
    {kind: 'all'},
    {kind: 'none'},
    {kind: 'domain', domain_id: targets.domainIds[0]},
    {kind: 'domains', domain_ids: targets.domainIds.slice(0, 2)},
  ]);
  const actor = {
    key_id: random.pick([targets.readerId, 3_000_000_009]),
    scope: random.pick(['read-only', 'full-admin', 'quarantine-only']),
    reach,
    remote_address: null,
  };
  const filter = random.chance(0.5)
    ? {}
    : {domain: 'd1.peer.test', subject: '%', min_score: -1, since: '2026-01-01T00:00:00.000Z'};
  const page = {limit: random.pick([1, 100, 100_000]), offset: random.pick([0, 1, 2 ** 52])};
  const steps = {offset: 0, stride: random.pick([1, 2 ** 52]), limit: 10_000};
  const place = {arrived_at: '2026-01-01T00:00:00.000Z', node_id: 'alpha', queue_id: targets.queueId};
  const mail = {actor, queue_id: random.pick([targets.queueId, 'abcdef'])};
  return [
    ['heartbeat', heartbeat(random, targets)],
    ['events', events(random, targets)],
    ['events', events(random, targets)],
    ['events', events(random, targets)],
    ['removed', {node_no: random.pick([2, 3, 65_535])}],
    [
      'records',
      {
        keys: Array.from({length: random.pick([1, 5, 500])}, () => ({
          kind: random.pick(['domain', 'api_key', 'x']),
          id: anyId(random, targets),
        })),
      },
    ],
    ['hold/list', {actor, filter, page}],
    ['hold/marks', {actor, filter, steps}],
    ['hold/rank', {actor, filter, place}],
    ['hold/summary', {actor, filter}],
    ['hold/get', mail],
    ['hold/body', mail],
    // The actor of a key that is unknown here is accepted as sent: with an unused id, a member may act on any mail.
    ['hold/act', {...mail, actor: {...actor, key_id: targets.readerId}, action: random.pick(['release', 'discard'])}],
    ['audit/list', {actor, filter: {}, page}],
    ['audit/marks', {actor, filter: {}, steps}],
    ['audit/rank', {actor, filter: {}, place: {at: '2026-01-01T00:00:00.000Z', node_id: 'alpha', seq: 1}}],
    ['tokens', {actor: {key_id: targets.readerId, remote_address: null}, expires_in_s: 60}],
    ['certificates', {requests: {node: 'x', api: 'x'}, node: 'x', api: 'x'}],
    ['join', {node_id: 'gamma', token: 'x'}],
    [random.pick(['', 'x', '../api/v1/auth/me', '__proto__', 'hold', '%zz']), {}],
  ];
};

export const peerInput = (random: Random, targets: PeerTargets): PeerInput => {
  if (random.chance(0.06)) {
    const query = random.pick([
      '',
      '?kind=domain&id=1',
      '?kind=x&id=1',
      '?kind=domain',
      '?id=-1&kind=domain',
      '?kind=__proto__&id=1e9',
      '?x=1',
    ]);
    return {
      method: random.pick(['GET', 'DELETE', 'PUT']),
      path: `${random.pick(['records', 'digests'])}${query}`,
      body: undefined,
    };
  }
  const [path, body] = random.pick(questions(random, targets));
  return {method: 'POST', path, body: written(random, random.chance(0.5) || path === 'removed' ? body : bend(random, body))};
};
