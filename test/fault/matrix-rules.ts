// Tables of scopes and errors from the contract, as the answer that each caller must get. A route without an entry is expected to
// refuse everybody. No route does that, so it fails.
import {type Scope, scopes} from '../../shared/scopes.ts';

/** The owner of the object that a request names. */
export const targets = ['own', 'other', 'deleted', 'unknown'] as const;
export type Target = (typeof targets)[number];

/** Problems of a key that come before its scope. */
const badKeys = {
  none: '401 key_missing',
  malformed: '401 key_invalid',
  unissued: '401 key_invalid',
  deleted: '401 key_invalid',
  revoked: '401 key_revoked',
  expired: '401 key_expired',
} as const;
export type BadKey = keyof typeof badKeys;

export type Caller =
  | {kind: 'bad'; why: BadKey; scope: Scope}
  /** A domain-admin key is for `domains` domains, 1 by default. One of several is gone, and another domain has its name. */
  | {kind: 'good'; scope: Scope; domains?: number}
  /** A domain-admin key whose `domains` domains are gone, and one whose domains have successors of the same names. */
  | {kind: 'orphan'; hasSuccessor: boolean; domains?: number};

export interface Rule {
  permitted: readonly Scope[];
  /** No key is needed. */
  isPublic?: true;
  /** A domain-admin key whose domain is gone may do this, and nothing else. */
  isForOrphans?: true;
  /** The answers to a permitted caller without a restricted access scope; only for targets that the request can name. */
  answers: Partial<Record<Target, string>>;
  /** The answer to a key for some domains when the object belongs to another domain. */
  beyondReach?: string;
  /** The request removes an existing object. */
  isDestructive?: true;
}

const everyone = scopes;
const readers: Scope[] = ['read-only', 'full-admin'];
const domainReaders: Scope[] = ['read-only', 'domain-admin', 'full-admin'];
const domainWriters: Scope[] = ['domain-admin', 'full-admin'];
const admins: Scope[] = ['full-admin'];
const actors: Scope[] = ['quarantine-only', 'domain-admin', 'full-admin'];

const gone = '404 not_found';
const ofNothing = {own: '200'};
const ofDomain = {own: '200', other: '200', deleted: gone, unknown: gone};
const inDomain = {own: '201', other: '201', deleted: gone, unknown: gone};
/** Mail stays when its domain is deleted. */
const ofMail = {own: '200', other: '200', deleted: '200', unknown: gone};
const ofKey = {own: '200', unknown: gone};
const ofWebhook = ofKey;
const ofLists = {own: '200 some', other: '200 some', deleted: '200 some', unknown: '200 none'};
const bulk = (state: string) => ({own: `200 ${state}`, other: `200 ${state}`, deleted: `200 ${state}`, unknown: '200 not_found'});

export const rules: Record<string, Rule> = {
  'GET /openapi.yaml': {permitted: everyone, isPublic: true, answers: ofNothing},
  'GET /auth/me': {permitted: everyone, isForOrphans: true, answers: ofNothing},
  'GET /auth/api-keys': {permitted: readers, answers: ofNothing},
  'POST /auth/api-keys': {permitted: admins, answers: {own: '201'}},
  'POST /auth/api-keys/:id/revoke': {permitted: admins, answers: ofKey, isDestructive: true},
  'DELETE /auth/api-keys/:id': {permitted: admins, answers: ofKey, isDestructive: true},
  'GET /domains': {permitted: domainReaders, answers: ofNothing},
  'POST /domains': {permitted: admins, answers: {own: '201'}},
  'GET /domains/:id': {permitted: domainReaders, answers: ofDomain, beyondReach: gone},
  'PUT /domains/:id': {permitted: domainWriters, answers: ofDomain, beyondReach: gone},
  'DELETE /domains/:id': {permitted: domainWriters, answers: ofDomain, beyondReach: gone, isDestructive: true},
  'GET /domains/:id/retention': {permitted: domainReaders, answers: ofDomain, beyondReach: gone},
  'PUT /domains/:id/retention': {permitted: domainWriters, answers: ofDomain, beyondReach: gone},
  'DELETE /domains/:id/retention': {permitted: domainWriters, answers: ofDomain, beyondReach: gone},
  'GET /domains/:id/digest': {permitted: domainReaders, answers: ofDomain, beyondReach: gone},
  'PUT /domains/:id/digest': {permitted: domainWriters, answers: ofDomain, beyondReach: gone},
  'GET /domains/:id/digest/preview': {permitted: everyone, answers: ofDomain, beyondReach: gone},
  'POST /domains/:id/digest/send': {
    permitted: domainWriters,
    answers: {...ofDomain, own: '409 conflict', other: '409 conflict'},
    beyondReach: gone,
  },
  'GET /domains/:id/filters': {permitted: domainReaders, answers: ofDomain, beyondReach: gone},
  'POST /domains/:id/filters': {permitted: domainWriters, answers: inDomain, beyondReach: gone},
  'DELETE /domains/:id/filters/:filter_id': {permitted: domainWriters, answers: ofDomain, beyondReach: gone, isDestructive: true},
  'GET /filters': {permitted: admins, answers: ofNothing},
  'POST /filters': {permitted: admins, answers: {own: '201'}},
  'DELETE /filters/:id': {permitted: admins, answers: {own: '200', unknown: gone}, isDestructive: true},
  'GET /webhooks': {permitted: admins, answers: ofNothing},
  'POST /webhooks': {permitted: admins, answers: {own: '201'}},
  'GET /webhooks/:id': {permitted: admins, answers: ofWebhook},
  'DELETE /webhooks/:id': {permitted: admins, answers: ofWebhook, isDestructive: true},
  'POST /webhooks/:id/test': {permitted: admins, answers: ofWebhook},
  'POST /webhooks/:id/replay': {permitted: admins, answers: ofWebhook},
  'GET /webhooks/:id/deliveries': {permitted: admins, answers: ofWebhook},
  'GET /domains/:id/dkim-keys': {permitted: domainReaders, answers: ofDomain, beyondReach: gone},
  'POST /domains/:id/dkim-keys': {permitted: domainWriters, answers: inDomain, beyondReach: gone},
  'DELETE /domains/:id/dkim-keys/:selector': {
    permitted: domainWriters,
    answers: ofDomain,
    beyondReach: gone,
    isDestructive: true,
  },
  'GET /domains/:id/dns': {permitted: domainReaders, answers: ofDomain, beyondReach: gone},
  'GET /domains/:id/test': {permitted: domainReaders, answers: ofDomain, beyondReach: gone},
  'GET /mail/quarantine': {permitted: everyone, answers: ofLists, beyondReach: '200 none'},
  'GET /mail/quarantine/summary': {permitted: everyone, answers: ofLists, beyondReach: '200 none'},
  'GET /mail/quarantine/:node_id/:queue_id': {permitted: everyone, answers: ofMail, beyondReach: gone},
  'GET /mail/quarantine/:node_id/:queue_id/body': {permitted: everyone, answers: ofMail, beyondReach: gone},
  'POST /mail/quarantine/release': {
    permitted: actors,
    answers: {...bulk('released'), deleted: '200 delivery_failed'},
    beyondReach: '200 not_found',
    isDestructive: true,
  },
  'POST /mail/quarantine/discard': {
    permitted: actors,
    answers: bulk('discarded'),
    beyondReach: '200 not_found',
    isDestructive: true,
  },
  'POST /mail/quarantine/:node_id/:queue_id/release': {
    permitted: actors,
    answers: {...ofMail, deleted: '502 delivery_failed'},
    beyondReach: gone,
    isDestructive: true,
  },
  'POST /mail/quarantine/:node_id/:queue_id/discard': {
    permitted: actors,
    answers: ofMail,
    beyondReach: gone,
    isDestructive: true,
  },
  // The node has the built-in scanner, which learns nothing.
  'POST /mail/quarantine/:node_id/:queue_id/train': {
    permitted: admins,
    answers: {own: '409 conflict', other: '409 conflict', deleted: '409 conflict', unknown: gone},
  },
  'GET /mail/trace': {permitted: domainReaders, answers: ofLists, beyondReach: '200 none'},
  'GET /mail/trace/:node_id/:queue_id': {permitted: domainReaders, answers: ofMail, beyondReach: gone},
  'GET /cluster/status': {permitted: readers, answers: ofNothing},
  'GET /cluster/drift': {permitted: readers, answers: ofNothing},
  'POST /cluster/tokens': {permitted: admins, answers: {own: '201'}},
  'GET /cluster/nodes/:node_id': {permitted: admins, answers: {own: '200', unknown: '404 unknown_node'}},
  'DELETE /cluster/nodes/:node_id': {permitted: admins, answers: {own: '409 conflict', unknown: '404 unknown_node'}},
  'GET /dmarc/summary': {permitted: domainReaders, answers: ofDomain, beyondReach: gone},
  'GET /dmarc/sources': {permitted: domainReaders, answers: ofDomain, beyondReach: gone},
  'GET /dmarc/reports': {permitted: readers, answers: ofNothing},
  // The node has no address that reports come from.
  'GET /dmarc/reports/:day/:policy_domain': {permitted: readers, answers: {own: '409 conflict'}},
  'GET /audit': {permitted: readers, answers: ofNothing},
  'GET /events': {permitted: everyone, answers: ofNothing},
};

const keysOfNobody = ['none', 'malformed', 'unissued'] as const;
const keysOfOld = ['deleted', 'revoked', 'expired'] as const;

/** Numbers of domains of keys for several. */
const severalDomains = [2, 3, 100];

export const callers: Caller[] = [
  ...keysOfNobody.map((why): Caller => ({kind: 'bad', why, scope: 'full-admin'})),
  ...scopes.flatMap(scope => keysOfOld.map((why): Caller => ({kind: 'bad', why, scope}))),
  ...scopes.map((scope): Caller => ({kind: 'good', scope})),
  ...severalDomains.map((domains): Caller => ({kind: 'good', scope: 'domain-admin', domains})),
  {kind: 'orphan', hasSuccessor: false},
  {kind: 'orphan', hasSuccessor: true},
  {kind: 'orphan', hasSuccessor: true, domains: 2},
];

/** A `403` is identified by the permission that it names. */
export const refusal = '403 insufficient_scope';

export const expectedOf = (rule: Rule, caller: Caller, target: Target): string => {
  const answer = rule.answers[target] ?? refusal;
  if (rule.isPublic) return answer;
  if (caller.kind === 'bad') return badKeys[caller.why];
  if (caller.kind === 'orphan') return rule.isForOrphans ? answer : refusal;
  if (!rule.permitted.includes(caller.scope)) return refusal;
  const isBeyond = caller.scope === 'domain-admin' && target !== 'own' && rule.beyondReach !== undefined;
  return isBeyond ? (rule.beyondReach ?? answer) : answer;
};
