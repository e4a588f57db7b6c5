// Management of API keys: identify, create, list, revoke, delete.
import {
  type ApiKey,
  type CreateApiKey,
  type CreatedApiKey,
  createApiKeySchema,
  type Me,
  maxDomains,
  revokeApiKeySchema,
} from '../../../shared/api-key.ts';
import {generateApiKey, isApiKeyValue, keyPrefixLength} from '../../../shared/api-key-value.ts';
import type {Domain} from '../../../shared/domain.ts';
import {canonicalDomain} from '../../../shared/domain-name.ts';
import {Fault, type FieldFault} from '../../../shared/fault.ts';
import {moment} from '../../../shared/fields.ts';
import {type AccessScope, domainNamesOf, permissionsOf} from '../../../shared/scopes.ts';
import type {Actor} from '../actor.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import type {AwaitReplication, ConfigReads, ConfigStore, ConfigTransaction, Store} from '../ports.ts';
import type {StoredApiKey} from '../records.ts';
import {membersOf, parseSafely, validate} from '../validate.ts';
import {hashKey, type KeyDirectory} from './key-directory.ts';

export interface Keys {
  /**
   * The stored key with this value. Throws a Fault `key_missing` or `key_invalid` when there is none, and `unavailable` while nobody
   * can say.
   */
  identify(value: string | undefined): Promise<StoredApiKey>;
  /** The current access scope of a key. Records the use. Throws a Fault `key_revoked` or `key_expired`. */
  admit(key: StoredApiKey): AccessScope;
  me(keyId: number): Promise<Me>;
  list(): Promise<ApiKey[]>;
  create(actor: Actor, body: unknown): Promise<CreatedApiKey>;
  /**
   * Ends a key now, or at the time that `body` gives, but never later than it ends already. `revoke` and `remove` wait until every
   * reachable node has applied the change; `unreachable` lists the ids of the other nodes.
   */
  revoke(actor: Actor, id: number, request: Revocation): Promise<{key: ApiKey; unreachable: string[]}>;
  remove(actor: Actor, id: number, isForced: boolean): Promise<{unreachable: string[]}>;
}

interface Revocation {
  body: unknown;
  isForced: boolean;
}

interface Needs {
  store: Store;
  configuration: ConfigStore;
  directory: KeyDirectory;
  domains: DomainDirectory;
  nodeId: string;
  awaitReplication: AwaitReplication;
  requireFresh?: RequireFresh;
  now: () => number;
}

export const createKeys = (needs: Needs): Keys => {
  const {store, configuration, directory, domains, nodeId, awaitReplication, requireFresh, now} = needs;
  const {requireActive, accessOf} = createAdmission(needs);
  // Fields are copied one by one: rest destructuring takes longer than everything else in this request.
  const toRecord = (key: StoredApiKey): ApiKey => ({
    id: key.id,
    name: key.name,
    key_prefix: key.key_prefix,
    scope: key.scope,
    rate_limit_per_minute: key.rate_limit_per_minute,
    domain: key.domain,
    domains: key.domains ?? (key.domain === null ? null : [key.domain]),
    domain_ids: boundIds(key),
    created_at: key.created_at,
    expires_at: key.expires_at,
    revoked_at: key.revoked_at,
    last_used_at: directory.lastUsedAt(key.id),
  });

  return {
    async identify(value) {
      requireFresh?.();
      if (value === undefined || value === '') throw new Fault('key_missing', 'send an API key in the X-API-Key header');
      const key = isApiKeyValue(value) ? await directory.findByHash(hashKey(value)) : undefined;
      if (!key) throw new Fault('key_invalid', 'the API key is not known here; check that it was copied whole');
      return key;
    },

    admit(key) {
      requireActive(key);
      directory.touch(key.id, new Date(now()));
      return accessOf(key);
    },

    async me(keyId) {
      const key = directory.findById(keyId) ?? (await byId(store.config, keyId));
      return {...toRecord(key), permissions: [...permissionsOf(key.scope, accessOf(key))], node_id: nodeId};
    },

    async list() {
      return (await store.config.listApiKeys()).map(toRecord);
    },

    async create(actor, body) {
      const wanted = validate(createApiKeySchema, body, [
        ...pastEnd(body, 'expires_at', now()),
        ...unknownDomains(domains, body),
      ]);
      return configuration.change(async tx => insertKey(tx, actor, wanted, boundDomains(domains, wanted)));
    },

    async revoke(actor, id, {body, isForced}) {
      const {at} = validate(revokeApiKeySchema, body, pastEnd(body, 'at', now()));
      const end = at === undefined ? undefined : new Date(at).toISOString();
      await configuration.change(async tx => {
        const key = await byId(tx.config, id);
        // Written again, so that `awaitReplication` also waits for a revocation that came from another node.
        if (key.revoked_at !== null) return tx.update('api_key', id, {revoked_at: key.revoked_at});
        if (end !== undefined && key.expires_at !== null && key.expires_at <= end)
          return tx.update('api_key', id, {expires_at: key.expires_at});

        await guardLastAdmin(tx, key, {isForced, nowMs: now(), endMs: end === undefined ? now() : Date.parse(end)});
        await tx.update('api_key', id, end === undefined ? {revoked_at: tx.at} : {expires_at: end});
        const details = [...(end === undefined ? [] : [`ends ${end}`]), ...(isForced ? ['forced'] : [])];
        await tx.audit(actor, 'key.revoke', String(id), details.join(', '));
      });
      const unreachable = await awaitReplication();
      return {key: toRecord(await byId(store.config, id)), unreachable};
    },

    async remove(actor, id, isForced) {
      await configuration.change(async tx => {
        const key = await byId(tx.config, id);
        await guardLastAdmin(tx, key, {isForced, nowMs: now(), endMs: now()});
        await tx.remove('api_key', id);
        await tx.audit(actor, 'key.delete', String(id), isForced ? 'forced' : '');
      });
      return {unreachable: await awaitReplication()};
    },
  };
};

/** Writes a new key inside a transaction. Only the result contains the value of the key. */
export const insertKey = async (
  tx: ConfigTransaction,
  actor: Pick<Actor, 'keyId' | 'remoteAddress'>,
  wanted: CreateApiKey,
  bound: readonly BoundDomain[] = [],
): Promise<CreatedApiKey> => {
  const value = generateApiKey();
  const id = await tx.nextId('api_key');
  const [first, ...others] = bound;
  const only = others.length === 0 ? first : undefined;
  const names = bound.map(({name}) => name);
  const shown = {
    name: wanted.name,
    key_prefix: value.slice(0, keyPrefixLength),
    scope: wanted.scope,
    rate_limit_per_minute: wanted.rate_limit_per_minute,
    domain: only?.name ?? null,
    expires_at: wanted.expires_at ? new Date(wanted.expires_at).toISOString() : null,
  };
  await tx.create('api_key', id, {
    ...shown,
    key_hash: hashKey(value),
    domain_id: only?.id ?? null,
    ...(others.length > 0 && {domains: names, domain_ids: bound.map(({id}) => id)}),
    revoked_at: null,
    created_at: tx.at,
  });
  await tx.audit(actor, 'key.create', String(id), `${wanted.scope} ${wanted.name}`);
  return {id, ...shown, domains: first ? names : null, key: value};
};

export const isActiveAdmin = (key: StoredApiKey, nowMs: number): boolean =>
  key.scope === 'full-admin' && key.revoked_at === null && (key.expires_at === null || Date.parse(key.expires_at) > nowMs);

/** Requires another full-admin key that is still active at `endMs`, when `key` ends. */
const guardLastAdmin = async (
  {config}: Pick<ConfigTransaction, 'config'>,
  key: StoredApiKey,
  {isForced, nowMs, endMs}: {isForced: boolean; nowMs: number; endMs: number},
): Promise<void> => {
  if (isForced || !isActiveAdmin(key, nowMs)) return;
  const others = (await config.listApiKeys()).filter(other => other.id !== key.id && isActiveAdmin(other, endMs));
  if (others.length > 0) return;
  const isNow = endMs <= nowMs;
  throw new Fault(
    'conflict',
    `${isNow ? 'this is the last active full-admin key' : 'no other full-admin key is good at that time'}; create another one first, or repeat with ?force=true`,
  );
};

const pastEnd = (body: unknown, path: 'expires_at' | 'at', nowMs: number): FieldFault[] => {
  const end = parseSafely(moment, membersOf(body)[path]);
  return end.success && Date.parse(end.data) <= nowMs ? [{path, detail: 'must lie in the future'}] : [];
};

/** The domains that a key was made for, deleted ones included. */
export const boundIds = ({domain_id, domain_ids}: Pick<StoredApiKey, 'domain_id' | 'domain_ids'>): number[] | null =>
  domain_ids ?? (domain_id === null ? null : [domain_id]);

type BoundDomain = Pick<Domain, 'id' | 'name'>;

const findDomain = (domains: DomainDirectory, name: string): BoundDomain | undefined =>
  domains.findByName(canonicalDomain(name) ?? '');

/** Faults that the schema cannot find, one for each name. The body is not validated yet. */
const unknownDomains = (domains: DomainDirectory, body: unknown): FieldFault[] => {
  const {scope, domain, domains: several} = membersOf(body);
  if (scope !== 'domain-admin') return [];
  const named = [['domain', domain], ...(Array.isArray(several) ? several : []).map((name, at) => [`domains.${at}`, name])];
  const unknown = new Set<string>();
  return named.slice(0, maxDomains + 1).flatMap(([path, name]) => {
    if (typeof name !== 'string' || unknown.has(name) || findDomain(domains, name)) return [];
    unknown.add(name);
    return [{path, detail: 'is not a domain of this cluster; create the domain first'}];
  });
};

/** Each once, in the order of the names. */
const boundDomains = (domains: DomainDirectory, wanted: CreateApiKey): BoundDomain[] => [
  ...new Set(domainNamesOf(wanted).map(name => findDomain(domains, name) ?? gone(name))),
];

/** It was there a moment ago. A key without it would be another than the one that was asked for. */
const gone = (name: string): never => {
  throw new Fault('conflict', `the domain ${name} was deleted meanwhile; try again`);
};

const byId = async (config: ConfigReads, id: number): Promise<StoredApiKey> => {
  const key = await config.findApiKey({id});
  if (!key) throw new Fault('not_found', `there is no API key ${id}`);
  return key;
};

// Admission of API keys: whether a key is active, and what it may access. Checked for each request, again on the node that carries
// the request out, and repeatedly while an event stream is open.

export interface Admission {
  /** Throws a Fault `key_revoked` or `key_expired` for a key that is no longer active, and whatever `requireFresh` throws. */
  requireActive(key: StoredApiKey): void;
  accessOf(key: StoredApiKey): AccessScope;
}

/** Throws a Fault `unavailable` while the keys in memory may be outdated: the next change could be a revocation. */
export type RequireFresh = () => void;

interface AdmissionNeeds {
  domains: DomainDirectory;
  requireFresh?: RequireFresh;
  now: () => number;
}

export const createAdmission = ({domains, requireFresh, now}: AdmissionNeeds): Admission => ({
  requireActive({revoked_at, expires_at}) {
    requireFresh?.();
    if (revoked_at !== null) throw new Fault('key_revoked', 'the API key has been revoked; ask for a new one');
    if (expires_at !== null && Date.parse(expires_at) <= now())
      throw new Fault('key_expired', `the API key expired at ${expires_at}; ask for a new one`);
  },

  accessOf({scope, domain_id, domain_ids}) {
    if (scope !== 'domain-admin') return {kind: 'all'};
    const left = (boundIds({domain_id, domain_ids}) ?? []).filter(id => domains.findById(id));
    const [first] = left;
    if (first === undefined) return {kind: 'none'};
    return domain_ids === null ? {kind: 'domain', domainId: first} : {kind: 'domains', domainIds: left};
  },
});
