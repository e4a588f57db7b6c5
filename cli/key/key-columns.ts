// Columns of API keys, and their holders.
import type {ApiKey, CreatedApiKey, Me} from '../../shared/api-key.ts';
import type {Client} from '../client/client.ts';
import {apiUrl, type Connection} from '../client/connection.ts';
import {usageError} from '../errors.ts';
import type {ContextStore} from '../files/context-store.ts';
import {countText, dateText, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import type {Printer} from '../output/printer.ts';
import type {Detail, Fields, Listed, Shown} from '../output/table.ts';

const columns: Column<ApiKey>[] = [
  {title: 'ID', cell: key => key.id, align: 'right'},
  {title: 'NAME', cell: key => key.name, isFlexible: true},
  {title: 'PREFIX', cell: key => key.key_prefix, dropRank: 2},
  {title: 'SCOPE', cell: key => key.scope},
  {title: 'DOMAIN', cell: key => key.domain, isFlexible: true},
  {
    title: 'PER MINUTE',
    cell: key => countText(key.rate_limit_per_minute),
    sortBy: key => key.rate_limit_per_minute,
    align: 'right',
    dropRank: 1,
  },
  {title: 'STATE', cell: key => keyState(key), tone: key => (keyState(key) === 'active' ? undefined : 'warn')},
  {title: 'LAST USED', cell: key => timeText(key.last_used_at), brief: key => dateText(key.last_used_at), dropRank: 4},
  {title: 'EXPIRES', cell: key => timeText(key.expires_at), brief: key => dateText(key.expires_at), dropRank: 3},
  {title: 'REVOKED', cell: key => timeText(key.revoked_at), isWideOnly: true},
  {title: 'CREATED', cell: key => timeText(key.created_at), isWideOnly: true},
];

const grantDetails = (
  key: Pick<ApiKey, 'id' | 'name' | 'key_prefix' | 'scope' | 'domain' | 'rate_limit_per_minute'>,
): Detail[] => [
  ['ID', key.id],
  ['Name', key.name],
  ['Prefix', key.key_prefix],
  ['Scope', key.scope],
  ['Domain', key.domain],
  ['Per minute', countText(key.rate_limit_per_minute)],
];

const keyDetails = (key: ApiKey): Detail[] => [
  ...grantDetails(key),
  ['State', keyState(key)],
  ['Last used', timeText(key.last_used_at)],
  ['Expires', timeText(key.expires_at)],
  ['Revoked', timeText(key.revoked_at)],
  ['Created', timeText(key.created_at)],
];

const createdDetails = (key: Omit<CreatedApiKey, 'key'>): Detail[] => [
  ...grantDetails(key),
  ['Expires', timeText(key.expires_at)],
];

const common = ['id', 'name', 'key_prefix', 'scope', 'rate_limit_per_minute', 'domain'];
const named: Fields<Pick<ApiKey, 'id'>> = {
  fields: [...common, 'last_used_at', 'expires_at', 'revoked_at', 'created_at'],
  nameOf: ({id}) => String(id),
};

export const apiKeys: Listed<ApiKey> & Shown<ApiKey> = {...named, columns, details: keyDetails, isShort: true, none: 'no keys'};

export const ownKey: Shown<Me> = {
  ...named,
  fields: [...named.fields, 'permissions', 'node_id'],
  details: me => [...keyDetails(me), ['Permissions', me.permissions], ['Node', me.node_id]],
};

export const createdKey: Shown<CreatedApiKey> = {
  ...named,
  fields: ['id', 'key_prefix', 'name', 'scope', 'rate_limit_per_minute', 'domain', 'expires_at', 'key'],
  details: created => [...createdDetails(created), ['Key', created.key]],
};

/** A created key whose value was written to a file. */
export const filedKey: Shown<Omit<CreatedApiKey, 'key'>> = {
  ...createdKey,
  fields: createdKey.fields.filter(field => field !== 'key'),
  details: createdDetails,
};

/** Otherwise nobody would have the key. */
export const requireShown = (printer: Printer, what: string): void => {
  if (!printer.shows('key'))
    throw usageError(`${what} would never be shown`, 'add --key-file FILE, or name the field key in --json');
};

/** With --quiet the key alone. */
export const showKey = <T extends CreatedApiKey>(printer: Printer, created: T, shown: Shown<T>): void => {
  if (printer.isQuiet && printer.isForPeople) printer.text(`${created.key}\n`);
  else printer.record(created, shown);
};

export const keyState = ({revoked_at, expires_at}: ApiKey): 'active' | 'revoked' | 'expired' => {
  if (revoked_at !== null) return 'revoked';
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'active';
};

export interface KeyHolders {
  /** Names of the contexts that hold the key. */
  contexts: string[];
  /** Names of those whose key has the same beginning, at an address that is not known to belong to this cluster. */
  doubtful: string[];
}

interface Needs {
  client: Client;
  connection: Connection;
  contexts: Pick<ContextStore, 'read' | 'keyOf'>;
}

/** A shorter beginning could match any key, as could the addresses that a node claims. `isOwn`: the key is the one that `client` uses, so all of it can be compared. */
export const findKeyHolders = async (needs: Needs, {key_prefix}: ApiKey, isOwn: boolean): Promise<KeyHolders> => {
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
