// API keys as mfctl knows them: each of their fields is declared once. Their rules are the schemas in shared/api-key.ts.
import type {ApiKey, CreateApiKey, CreatedApiKey, Me} from '../../shared/api-key.ts';
import {domainNamesOf, type Scope, scopes} from '../../shared/scopes.ts';
import {type TypedField, typedNumber} from '../command-line/field-options.ts';
import {exactMoment, momentAfter, momentAt, parseDuration, readMoment} from '../command-line/moment.ts';
import {collected, wholeNumber} from '../command-line/option-values.ts';
import {usageError} from '../errors.ts';
import {countText, dateText, durationText, firstOf, timeText} from '../output/cell-text.ts';
import type {Tone} from '../output/column.ts';
import {columnsOf, detailsOf, type Field} from '../output/field.ts';
import type {Printer} from '../output/printer.ts';
import type {Fields, Listed, Shown} from '../output/table.ts';

export interface NewKeyFlags {
  name: string;
  scope: Scope;
  rateLimit?: number;
  expiresAt?: string;
  expiresIn?: string;
  domain?: string[];
}

/** What a key may do, or what is asked for. */
export type Grant = Pick<ApiKey, keyof CreateApiKey>;

/** A key, or what the answer to its creation has of it. */
type MadeKey = Pick<ApiKey, 'id' | 'key_prefix'> & Grant;

/** The cells of screens depend on the present. */
type KeyField<T = MadeKey> = Field<T, number>;

/** What makes a key, in the order of forms. */
export const newKeyFields: Readonly<Record<Exclude<keyof CreateApiKey, 'domain'>, KeyField & TypedField<NewKeyFlags>>> = {
  name: {
    label: 'Name',
    hint: 'what it is for',
    parse: text => text.trim(),
    options: [{flags: '--name <name>', description: 'what it is for', isMandatory: true}],
    given: ({name}) => name,
    cell: ({name}) => name,
    column: {isFlexible: true},
    screen: {width: 12, grow: 3, style: () => 'bold'},
  },
  scope: {
    label: 'Scope',
    hint: 'what it may do; left and right choose',
    choices: scopes,
    parse: text => text,
    options: [{flags: '--scope <scope>', description: 'what it may do', choices: scopes, isMandatory: true}],
    given: ({scope}) => scope,
    cell: ({scope}) => scope,
    column: {},
    screen: {width: 15, style: ({scope}) => (scope === 'full-admin' ? 'accent' : undefined)},
  },
  domains: {
    label: 'Domains',
    hint: 'for domain-admin alone: the domains it is bound to, with commas between',
    separator: ', ',
    parse(text) {
      const names = text.split(/[\s,]+/).filter(Boolean);
      return names.length === 0 ? null : names;
    },
    options: [
      {
        flags: '--domain <domain>',
        description: 'with scope domain-admin: the domain it is bound to; repeat it for more, at most 100',
        parse: collected,
      },
    ],
    given: ({domain}) => domain,
    cell: key => firstOf(domainNamesOf(key)),
    entries: domainNamesOf,
    page: key => domainNamesOf(key).join(', '),
    column: {wide: key => domainNamesOf(key).join(', '), isFlexible: true},
    screen: {width: 14, grow: 2, dropRank: 3},
  },
  rate_limit_per_minute: {
    label: 'Per minute',
    hint: 'requests, 1 to 1000000',
    parse: typedNumber,
    options: [{flags: '--rate-limit <number>', description: 'requests a minute (default: 600)', parse: wholeNumber}],
    given: ({rateLimit}) => rateLimit,
    cell: key => countText(key.rate_limit_per_minute),
    column: {sortBy: key => key.rate_limit_per_minute, align: 'right', dropRank: 1},
    screen: {title: 'PER MIN', width: 9, dropRank: 2},
  },
  expires_at: {
    label: 'Expires',
    hint: '90d, 12h, monday, 2027-01-31, 2027-01-31 18:30; empty: never',
    parse: (text, nowMs) => momentOf(text.trim(), nowMs),
    options: [
      {
        flags: '--expires-at <time>',
        description: 'when the key expires, such as 2027-01-31T00:00:00Z or 18:30',
        parse: exactMoment,
        conflicts: 'expiresIn',
      },
      {
        flags: '--expires-in <duration>',
        description: 'how long the key stays valid, such as 12h or 90d',
        parse: momentAfter,
      },
    ],
    given: ({expiresAt, expiresIn}) => expiresAt ?? expiresIn,
    cell: key => timeText(key.expires_at),
    page: (key, nowMs) => (key.expires_at === null ? 'never' : `${timeText(key.expires_at)}, ${endText(key, nowMs)}`),
    column: {brief: key => dateText(key.expires_at), dropRank: 3},
    screen: {width: 8, cell: (key, nowMs) => endText(key, nowMs)},
  },
};

/** From a duration from now, a date or a time. Anything else stays, and is refused. */
const momentOf = (text: string, nowMs: number): string | null => {
  if (text === '') return null;
  const durationMs = parseDuration(text);
  return (durationMs === undefined ? readMoment(text, nowMs, 'next').at : momentAt(nowMs + durationMs)) ?? text;
};

const {name, scope, domains, rate_limit_per_minute, expires_at} = newKeyFields;

const grantFields: Readonly<Record<Exclude<keyof MadeKey, 'domain' | 'expires_at'>, KeyField>> = {
  id: {label: 'ID', cell: ({id}) => id, column: {align: 'right'}, screen: {width: 13, dropRank: 1}},
  name,
  key_prefix: {label: 'Prefix', cell: key => key.key_prefix, column: {dropRank: 2}, screen: {width: 12, dropRank: 4}},
  ...{scope, domains, rate_limit_per_minute},
};

/** In the order of columns and details. */
export const keyFields: Readonly<Record<Exclude<keyof ApiKey, 'domain' | 'domain_ids'> | 'state', KeyField<ApiKey>>> = {
  ...grantFields,
  state: {
    label: 'State',
    cell: key => keyState(key),
    page: (key, nowMs) => conditionOf(key, nowMs).text,
    column: {tone: key => (keyState(key) === 'active' ? undefined : 'warn')},
    screen: {
      width: 11,
      cell: (key, nowMs) => conditionOf(key, nowMs).text,
      style: (key, nowMs) => conditionOf(key, nowMs).tone,
    },
  },
  last_used_at: {
    label: 'Last used',
    cell: key => timeText(key.last_used_at),
    page: (key, nowMs) => (key.last_used_at === null ? 'never' : `${timeText(key.last_used_at)}, ${usedText(key, nowMs)}`),
    column: {brief: key => dateText(key.last_used_at), dropRank: 4},
    screen: {title: 'USED', width: 8, dropRank: 5, cell: (key, nowMs) => usedText(key, nowMs)},
  },
  expires_at,
  revoked_at: {label: 'Revoked', cell: key => timeText(key.revoked_at), column: {isWideOnly: true}},
  created_at: {
    label: 'Created',
    cell: key => timeText(key.created_at),
    column: {isWideOnly: true},
    screen: {width: 20, dropRank: 0},
  },
};

const keyDetails = (key: ApiKey) => detailsOf(Object.values(keyFields), key);
const createdDetails = (key: Omit<CreatedApiKey, 'key'>) => detailsOf([...Object.values(grantFields), expires_at], key);

const common = ['id', 'name', 'key_prefix', 'scope', 'rate_limit_per_minute', 'domain', 'domains'];
const named: Fields<Pick<ApiKey, 'id'>> = {
  fields: [...common, 'domain_ids', 'last_used_at', 'expires_at', 'revoked_at', 'created_at'],
  nameOf: ({id}) => String(id),
};

export const apiKeys: Listed<ApiKey> & Shown<ApiKey> = {
  ...named,
  columns: columnsOf(Object.values(keyFields)),
  details: keyDetails,
  isShort: true,
  none: 'no keys',
};

export const ownKey: Shown<Me> = {
  ...named,
  fields: [...named.fields, 'permissions', 'node_id'],
  details: me => [...keyDetails(me), ['Permissions', me.permissions], ['Node', me.node_id]],
};

export const createdKey: Shown<CreatedApiKey> = {
  ...named,
  fields: ['id', 'key_prefix', 'name', 'scope', 'rate_limit_per_minute', 'domain', 'domains', 'expires_at', 'key'],
  details: created => [...createdDetails(created), ['Key', created.key]],
};

/** A created key whose value was written to a file. */
export const filedKey: Shown<Omit<CreatedApiKey, 'key'>> = {
  ...createdKey,
  fields: createdKey.fields.filter(field => field !== 'key'),
  details: createdDetails,
};

/** `domain-admin for example.com +2`. */
export const grantText = (
  key: Pick<Grant, 'scope'> & Partial<Pick<Grant, 'domain' | 'domains'>>,
  namesText: (names: readonly string[]) => string = firstOf,
): string => {
  const names = domainNamesOf(key);
  return names.length === 0 ? key.scope : `${key.scope} for ${namesText(names)}`;
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

/** By the clock of this machine. */
export const keyState = (key: ApiKey): KeyState => conditionOf(key, Date.now()).state;

type KeyState = 'active' | 'revoked' | 'expired';

interface KeyCondition {
  state: KeyState;
  /** With a glyph: `▲ 3d left`. */
  text: string;
  tone: Tone | undefined;
  /** Lower for keys that need more attention. */
  rank: number;
}

const dayMs = 86_400_000;
const endingSoonMs = 14 * dayMs;
const idleAfterMs = 90 * dayMs;
const unusedAfterMs = 30 * dayMs;

export const conditionOf = (key: ApiKey, nowMs: number): KeyCondition => {
  const {revoked_at, expires_at, last_used_at, created_at} = key;
  if (revoked_at !== null) return {state: 'revoked', text: '✗ revoked', tone: undefined, rank: 5};
  const leftMs = expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at) - nowMs;
  if (leftMs <= 0) return {state: 'expired', text: '✗ expired', tone: 'bad', rank: 0};
  if (leftMs < endingSoonMs)
    return {state: 'active', text: `▲ ${durationText(Math.floor(leftMs / 1000))} left`, tone: 'warn', rank: 1};
  if (last_used_at === null)
    return nowMs - Date.parse(created_at) > unusedAfterMs
      ? {state: 'active', text: '◌ unused', tone: 'warn', rank: 2}
      : {state: 'active', text: '● active', tone: 'good', rank: 4};
  const idleMs = nowMs - Date.parse(last_used_at);
  if (idleMs > idleAfterMs)
    return {state: 'active', text: `◌ idle ${durationText(Math.floor(idleMs / 1000))}`, tone: 'warn', rank: 3};
  return {state: 'active', text: '● active', tone: 'good', rank: 4};
};

/** `3m ago`, `never`. */
export const usedText = ({last_used_at}: ApiKey, nowMs: number): string =>
  last_used_at === null ? 'never' : `${durationText(Math.max(0, Math.floor((nowMs - Date.parse(last_used_at)) / 1000)))} ago`;

/** `in 89d`, `never`, `3d ago`. */
const endText = ({expires_at}: Pick<ApiKey, 'expires_at'>, nowMs: number): string => {
  if (expires_at === null) return 'never';
  const seconds = Math.floor((Date.parse(expires_at) - nowMs) / 1000);
  return seconds > 0 ? `in ${durationText(seconds)}` : `${durationText(-seconds)} ago`;
};
