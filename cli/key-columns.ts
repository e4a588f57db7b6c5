import type {ApiKey, CreatedApiKey} from '../shared/api-key.ts';
import {countText, dateText, timeText} from './cell-text.ts';
import type {Column} from './column.ts';
import type {Detail} from './table.ts';

export const keyColumns: Column<ApiKey>[] = [
  {title: 'ID', cell: key => key.id, align: 'right'},
  {title: 'NAME', cell: key => key.name, isFlexible: true},
  {title: 'PREFIX', cell: key => key.key_prefix, dropRank: 2},
  {title: 'SCOPE', cell: key => key.scope},
  {title: 'DOMAIN', cell: key => key.domain, isFlexible: true},
  {title: 'PER MINUTE', cell: key => countText(key.rate_limit_per_minute), align: 'right', dropRank: 1},
  {title: 'STATE', cell: key => stateOf(key), tone: key => (stateOf(key) === 'active' ? undefined : 'warn')},
  {title: 'LAST USED', cell: key => timeText(key.last_used_at), brief: key => dateText(key.last_used_at), dropRank: 4},
  {title: 'EXPIRES', cell: key => timeText(key.expires_at), brief: key => dateText(key.expires_at), dropRank: 3},
];

export const keyDetails = (key: ApiKey): Detail[] => [
  ['ID', key.id],
  ['Name', key.name],
  ['Prefix', key.key_prefix],
  ['Scope', key.scope],
  ['Domain', key.domain],
  ['Per minute', countText(key.rate_limit_per_minute)],
  ['State', stateOf(key)],
  ['Last used', timeText(key.last_used_at)],
  ['Expires', timeText(key.expires_at)],
  ['Revoked', timeText(key.revoked_at)],
  ['Created', timeText(key.created_at)],
];

export const createdDetails = (key: Omit<CreatedApiKey, 'key'>): Detail[] => [
  ['ID', key.id],
  ['Name', key.name],
  ['Prefix', key.key_prefix],
  ['Scope', key.scope],
  ['Domain', key.domain],
  ['Per minute', countText(key.rate_limit_per_minute)],
  ['Expires', timeText(key.expires_at)],
];

const stateOf = ({revoked_at, expires_at}: ApiKey): 'active' | 'revoked' | 'expired' => {
  if (revoked_at !== null) return 'revoked';
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'active';
};
