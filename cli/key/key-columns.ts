import type {ApiKey, CreatedApiKey, Me} from '../../shared/api-key.ts';
import {countText, dateText, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import type {Fields, Listed, Shown} from '../output/resource.ts';
import type {Detail} from '../output/table.ts';

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

export const keyState = ({revoked_at, expires_at}: ApiKey): 'active' | 'revoked' | 'expired' => {
  if (revoked_at !== null) return 'revoked';
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'active';
};
