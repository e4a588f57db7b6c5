// Rotation of an API key: a successor with the same rights replaces it. Nothing is printed or asked here: the dashboard rotates keys too.
import {setTimeout as sleep} from 'node:timers/promises';
import {isDeepStrictEqual} from 'node:util';
import type {ApiKey, CreatedApiKey} from '../../shared/api-key.ts';
import {domainNamesOf} from '../../shared/scopes.ts';
import type {Answer, Client} from '../client/client.ts';
import {apiUrl, type Connection} from '../client/connection.ts';
import {CliError, exitCodes, usageError} from '../errors.ts';
import type {ContextStore} from '../files/context-store.ts';
import {goneNames} from './deleted-domains.ts';
import {chooseKey} from './find-key.ts';

export interface RotationServices {
  /** The client of the person who rotates. */
  client: Client;
  /** The connection of `client`. */
  connection: Connection;
  clientFor(connection: Connection): Promise<Client>;
  contexts: ContextStore;
  now?: () => number;
}

interface RotationWishes {
  /** The end of the successor, ISO 8601; by default the successor lives as long as the old key would have. */
  expiresAt?: string | undefined;
  /** How long the old key stays valid; by default it is refused at once. */
  overlapMs?: number | undefined;
}

export interface RotationPlan extends KeyHolders {
  old: ApiKey;
  successor: Pick<ApiKey, 'name' | 'scope' | 'rate_limit_per_minute' | 'expires_at' | 'domains'>;
  /** Domains of the old key that are gone. Another domain may have the name now. */
  gone: string[];
  /** The domains that the successor has to be bound to. Undefined for a key without domains, and for nodes of 0.8, which show no ids. */
  domainIds: readonly number[] | undefined;
  overlapMs: number;
  /** The old key is the key of `client`. */
  isOwn: boolean;
}

export interface Rotation {
  /** After the rotation. */
  old: ApiKey;
  /** The client of the successor, for a caller that rotated its own key. */
  client: Client;
  unreachableNodes: string[];
}

/** Reads everything and changes nothing. Rejects with a CliError for a key that is unknown or revoked. */
export const planRotation = async (
  needs: RotationServices,
  nameOrId: string | number,
  wishes: RotationWishes = {},
): Promise<RotationPlan> => {
  const {client, now = Date.now} = needs;
  const {data: keys} = await forAdmins(client.keys.list());
  const old = chooseKey(keys, {named: String(nameOrId), isActiveMeant: true});
  if (old.revoked_at !== null)
    throw new CliError('conflict', `key ${old.id} is revoked, so there is nothing to replace`, {hint: 'mfctl key create --help'});

  const {expiresAt, overlapMs = 0} = wishes;
  const expires_at = expiresAt ?? endAfterSameLife(old, now());
  if (expires_at !== null && Date.parse(expires_at) <= now() + overlapMs)
    throw usageError('the successor would end before the old key', 'choose a shorter --overlap, or a later end: --expires-in');

  const {data: me} = await client.me();
  if (!me.permissions.includes('keys:write'))
    throw needsAdmin(
      new CliError('insufficient_scope', `a ${me.scope} key may not make keys`, {exitCode: exitCodes.notAuthorised}),
    );
  const {name, scope, rate_limit_per_minute} = old;
  const {domains, domainIds, gone} = await domainsLeft(client, old);
  return {
    ...{old, gone, domainIds},
    successor: {name, scope, rate_limit_per_minute, expires_at, domains},
    overlapMs,
    isOwn: me.id === old.id,
    ...(await findKeyHolders(needs, old, me.id === old.id)),
  };
};

interface DomainsLeft extends Pick<RotationPlan, 'gone' | 'domainIds'> {
  domains: string[] | null;
}

const domainsLeft = async (client: Client, old: ApiKey): Promise<DomainsLeft> => {
  const names = domainNamesOf(old);
  if (names.length === 0) return {domains: null, domainIds: undefined, gone: []};
  const {data} = await client.domains.list();
  const gone = goneNames(old, data);
  const domains = names.filter(name => !gone.includes(name));
  if (domains.length === 0)
    throw new CliError('conflict', `key ${old.id} is for ${names.join(', ')}, which ${names.length === 1 ? 'is' : 'are'} gone`, {
      hint: 'mfctl key create --help',
    });
  const {domain_ids: ids} = old as Partial<ApiKey>;
  return {domains, domainIds: ids?.filter(id => data.some(domain => domain.id === id)), gone};
};

export const withoutGone = (gone: readonly string[]): string =>
  `${gone.join(', ')}: the old key's ${gone.length === 1 ? 'domain of that name is' : 'domains of these names are'} gone`;

/**
 * Creates the successor, checks that it works, writes it into the contexts, passes it to `keep` with their names, and only
 * then ends the old key. `keep` must not lose it: without contexts it is the only copy. Every CliError says what
 * was done until then.
 */
export const rotateKey = async (
  needs: RotationServices,
  plan: RotationPlan,
  keep: (successor: CreatedApiKey, contexts: string[]) => Promise<void>,
): Promise<Rotation> => {
  const {old, contexts} = plan;
  const successor = await create(needs, plan);
  const itself = await needs.clientFor({...needs.connection, apiKey: successor.key});
  await prove(itself, successor, plan).catch(async error => {
    throw await unproven(needs, {error, successor, old});
  });

  const isOld = (key: string): boolean => key.startsWith(old.key_prefix);
  const replaced = await needs.contexts.replaceKey(contexts, {isOld, key: successor.key}).catch(error => {
    throw withState(
      error,
      `key ${old.id} is as it was; its successor, key ${successor.id}, is kept nowhere`,
      revoking(successor.id),
    );
  });
  await keep(successor, replaced).catch(error => {
    const where = replaced.length > 0 ? ` and is in ${namesOf(replaced)}` : '';
    throw withState(
      error,
      `key ${old.id} is as it was; its successor, key ${successor.id}, is good too${where}`,
      replaced.length > 0 ? revoking(old.id) : revoking(successor.id),
    );
  });

  // Through the successor, as the old key may be the one in use.
  const {data, unreachableNodes} = await end(plan.isOwn ? itself : needs.client, plan, needs.now ?? Date.now).catch(error => {
    throw withState(error, `the successor, key ${successor.id}, is good, and key ${old.id} may be still`, revoking(old.id));
  });
  return {old: data, client: itself, unreachableNodes};
};

const endAfterSameLife = ({created_at, expires_at}: ApiKey, nowMs: number): string | null =>
  expires_at === null ? null : new Date(nowMs + Date.parse(expires_at) - Date.parse(created_at)).toISOString();

const create = async ({client}: RotationServices, {successor}: RotationPlan): Promise<CreatedApiKey> => {
  const {expires_at, ...rest} = successor;
  const json = {...rest, expires_at: expires_at ?? undefined};
  const {data} = await forAdmins(client.keys.create(json)).catch(error => {
    const isUnclear = error instanceof CliError && ['timeout', 'outcome_unknown', 'unreachable'].includes(error.code);
    throw isUnclear ? withState(error, 'a successor may have been made', 'mfctl key list') : error;
  });
  return data;
};

const proofs = {count: 10, everyMs: 300};

/** Several nodes may share one address, and the key reaches all of them only after a moment. */
const prove = async (itself: Client, {id}: CreatedApiKey, plan: RotationPlan): Promise<void> => {
  for (let left = proofs.count; ; left -= 1) {
    try {
      const {data} = await itself.me();
      if (data.id === id) return requireSameDomains(plan, data);
      throw new CliError('unexpected_answer', `the node takes the new key for key ${data.id}`);
    } catch (error) {
      if (left === 1 || !(error instanceof CliError) || error.code !== 'key_invalid') throw error;
      await sleep(proofs.everyMs);
    }
  }
};

/** A key is created for names, and another domain may have got one of them since the plan was made. */
const requireSameDomains = ({domainIds}: RotationPlan, {domain_ids: bound}: Partial<ApiKey>): void => {
  if (domainIds === undefined || bound === undefined || isDeepStrictEqual(new Set(domainIds), new Set(bound))) return;
  throw new CliError('conflict', 'another domain has the name of one of the domains of the key by now');
};

const unproven = async (
  {client}: RotationServices,
  {error, successor, old}: {error: unknown; successor: CreatedApiKey; old: ApiKey},
): Promise<unknown> => {
  const isGone = await client.keys.revoke(successor.id).then(
    () => true,
    () => false,
  );
  return isGone
    ? withState(
        error,
        `so the successor, key ${successor.id}, was revoked, and key ${old.id} is as it was`,
        error instanceof CliError && error.code === 'conflict' ? `mfctl key show ${old.id}` : 'mfctl cluster status',
      )
    : withState(error, `key ${old.id} is as it was; the successor, key ${successor.id}, is there still`, revoking(successor.id));
};

const end = (client: Client, {old, overlapMs}: RotationPlan, now: () => number): Promise<Answer<ApiKey>> =>
  client.keys.revoke(old.id, {at: overlapMs > 0 ? new Date(now() + overlapMs).toISOString() : undefined});

const revoking = (id: number): string => `mfctl key revoke ${id}`;

const namesOf = (contexts: readonly string[]): string => `the context${contexts.length === 1 ? '' : 's'} ${contexts.join(', ')}`;

/** The error, with the state after it; a bug is passed on. */
const withState = (error: unknown, state: string, hint: string): unknown =>
  error instanceof CliError ? error.with({detail: `${error.detail}; ${state}`, hint, cause: error}) : error;

const forAdmins = async <T>(answer: Promise<T>): Promise<T> =>
  answer.catch(error => {
    throw error instanceof CliError && error.code === 'insufficient_scope' ? needsAdmin(error) : error;
  });

const needsAdmin = (error: CliError): CliError =>
  error.with({hint: 'only a full-admin key can rotate keys: -c CONTEXT or --api-key-file FILE names another one'});

interface KeyHolders {
  /** Names of the contexts that hold the key. */
  contexts: string[];
  /** Names of those whose key has the same beginning, at an address that is not known to belong to this cluster. */
  doubtful: string[];
}

/** A shorter beginning could match any key, as could the addresses that a node claims. `isOwn`: the key is the one that `client` uses, so all of it can be compared. */
const findKeyHolders = async (needs: RotationServices, {key_prefix}: ApiKey, isOwn: boolean): Promise<KeyHolders> => {
  const {keyPrefixLength} = await import('../../shared/api-key-value.ts');
  const {contexts} = await needs.contexts.read();
  const alike: {name: string; url: string; isSame: boolean}[] = [];
  for (const {name, url} of contexts) {
    const key = await needs.contexts.keyOf(name);
    if (key?.startsWith(key_prefix) && key_prefix.length >= keyPrefixLength)
      alike.push({name, url, isSame: isOwn && key === needs.connection.apiKey});
  }

  const here = needs.connection.baseUrl.href;
  const isNear = ({url, isSame}: {url: string; isSame: boolean}) => isSame || hrefOf(url) === here;
  const known = alike.every(isNear) ? new Set<string>() : await addressesOf(needs.client);
  const isHolder = (context: (typeof alike)[number]) => isNear(context) || known.has(hrefOf(context.url));
  return {
    contexts: alike.filter(isHolder).map(({name}) => name),
    doubtful: alike.filter(context => !isHolder(context)).map(({name}) => name),
  };
};

/** The API addresses of the cluster's nodes, as the cluster status lists them. */
const addressesOf = async (client: Client): Promise<Set<string>> => {
  const {data} = await client.cluster.status();
  return new Set(data.peers.flatMap(({api_url}) => api_url ?? []).map(hrefOf));
};

/** An invalid address stays text: configuration is edited by hand, and other code reports it. */
const hrefOf = (url: string): string => {
  try {
    return apiUrl(url).href;
  } catch {
    return url;
  }
};
