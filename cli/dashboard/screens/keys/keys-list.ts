// List of API keys, with the details of the one under the cursor below it.
import type {ApiKey} from '../../../../shared/api-key.ts';
import {countText, durationText, plural, timeText} from '../../../output/cell-text.ts';
import type {Tone} from '../../../output/column.ts';
import {displayWidth} from '../../../output/display-width.ts';
import type {List, Order, TuiColumn} from '../../list/list.ts';
import {hasWords} from '../../list/list-query.ts';
import {detailLines, fitText, wrapText} from '../../shell/fit-text.ts';
import type {Page} from '../../shell/modal.ts';
import type {Loaded} from '../../shell/source.ts';
import type {Theme} from '../../shell/theme.ts';

interface KeysFacts {
  loaded: Pick<Loaded<ApiKey[]>, 'value' | 'loadedAtMs' | 'failure'>;
  /** The id of the key in use. */
  ownId: number;
  nowMs: number;
  theme: Theme;
}

export const keysList = (facts: KeysFacts): List<ApiKey> => {
  const {loaded, nowMs} = facts;
  const {value: rows, loadedAtMs, failure} = loaded;
  return {
    ...{rows, loadedAtMs, failure},
    keyOf: ({id}) => String(id),
    columns: () => keyColumns(facts),
    head: shown => {
      const total = plural(rows?.length ?? 0, 'key');
      const warned = (rows ?? []).filter(key => conditionOf(key, nowMs).rank < 4).length;
      return [
        shown.length === rows?.length ? total : `${countText(shown.length)} of ${total}`,
        ...(warned > 0 ? [{text: `▲ ${warned} to look at`, style: 'warn' as const}] : []),
      ];
    },
    matches: (key, {words}) => {
      const {state, text} = conditionOf(key, nowMs);
      return hasWords([String(key.id), key.name, key.key_prefix, key.scope, key.domain, state, text], words);
    },
    hint: 'words of name, prefix, scope, domain or state',
    orders: ordersAt(nowMs),
    empty: ['No keys'],
    rowStyle: key => (conditionOf(key, nowMs).state === 'revoked' ? 'dim' : undefined),
    below: {rows: () => 3, lines: (key, {columns}) => aboutLines(facts, key, columns)},
  };
};

const ordersAt = (nowMs: number): Order<ApiKey>[] => {
  const byName = (a: ApiKey, b: ApiKey): number => a.name.localeCompare(b.name, 'en') || a.id - b.id;
  const order = (name: string, compare: (a: ApiKey, b: ApiKey) => number): Order<ApiKey> => ({
    name,
    compare: (a, b) => compare(a, b) || byName(a, b),
  });
  return [
    order('name', byName),
    // Keys that need attention come first.
    order('state', (a, b) => conditionOf(a, nowMs).rank - conditionOf(b, nowMs).rank),
    order('last use', (a, b) => byTime(b.last_used_at, a.last_used_at, '')),
    order('end', (a, b) => byTime(a.expires_at, b.expires_at, '9')),
    order('scope', (a, b) => a.scope.localeCompare(b.scope, 'en') || byTime(a.domain, b.domain, '')),
    order('age', (a, b) => byTime(b.created_at, a.created_at, '')),
  ];
};

const byTime = (a: string | null, b: string | null, whenNull: string): number =>
  (a ?? whenNull).localeCompare(b ?? whenNull, 'en');

const keyColumns = ({ownId, nowMs}: KeysFacts): TuiColumn<ApiKey>[] => [
  {title: ' ', width: 1, cell: ({id}) => (id === ownId ? '*' : ' '), style: () => 'accent'},
  {title: 'NAME', width: 12, grow: 3, cell: key => key.name, style: () => 'bold'},
  {title: 'ID', width: 13, align: 'right', dropRank: 1, cell: key => key.id},
  {title: 'PREFIX', width: 12, dropRank: 4, cell: key => key.key_prefix},
  {title: 'SCOPE', width: 15, cell: key => key.scope, style: ({scope}) => (scope === 'full-admin' ? 'accent' : undefined)},
  {title: 'DOMAIN', width: 14, grow: 2, dropRank: 3, cell: key => key.domain},
  {title: 'PER MIN', width: 9, align: 'right', dropRank: 2, cell: key => countText(key.rate_limit_per_minute)},
  {title: 'STATE', width: 11, cell: key => conditionOf(key, nowMs).text, style: key => conditionOf(key, nowMs).tone},
  {title: 'USED', width: 8, dropRank: 5, cell: key => usedText(key, nowMs)},
  {title: 'EXPIRES', width: 8, cell: key => endText(key, nowMs)},
  {title: 'CREATED', width: 20, dropRank: 0, cell: key => timeText(key.created_at)},
];

/** Details that do not fit in the row. */
const aboutLines = ({ownId, nowMs, theme}: KeysFacts, key: ApiKey | undefined, columns: number): string[] => {
  if (!key) return [theme('─'.repeat(columns), 'dim')];
  const own = key.id === ownId ? ' · the key in use here' : '';
  const domain = key.domain === null ? '' : ` for ${key.domain}`;
  const title = ` ${key.name} `;
  const width = Math.min(displayWidth(title), columns - 4);
  const end = key.revoked_at === null ? `ends ${timeText(key.expires_at) ?? 'never'}` : `revoked ${timeText(key.revoked_at)}`;
  const tone = conditionOf(key, nowMs).tone === 'bad' ? 'bad' : undefined;
  return [
    theme('──', 'dim') + theme(fitText(title, width), 'bold') + theme('─'.repeat(Math.max(0, columns - 2 - width)), 'dim'),
    ...[
      ` ${key.id} · ${key.key_prefix}… · ${key.scope}${domain} · ${countText(key.rate_limit_per_minute)} a minute${own}`,
      ` used ${timeText(key.last_used_at) ?? 'never'} · ${end} · made ${timeText(key.created_at)}`,
    ].map(line => theme(fitText(line, columns), tone)),
  ];
};

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
const endText = ({expires_at}: ApiKey, nowMs: number): string => {
  if (expires_at === null) return 'never';
  const seconds = Math.floor((Date.parse(expires_at) - nowMs) / 1000);
  return seconds > 0 ? `in ${durationText(seconds)}` : `${durationText(-seconds)} ago`;
};

export const keyPage = (key: ApiKey, {isOwn, nowMs, theme}: {isOwn: boolean; nowMs: number; theme: Theme}): Page => {
  const {text, tone} = conditionOf(key, nowMs);
  return {
    kind: 'page',
    title: `Key ${key.id}`,
    lines: width => [
      ...detailLines(
        [
          ['Name', key.name],
          ['ID', key.id],
          ['Begins with', key.key_prefix],
          ['Scope', key.scope],
          ['Domain', key.domain],
          ['Per minute', countText(key.rate_limit_per_minute)],
          ['State', text, tone],
          ['Last used', key.last_used_at === null ? 'never' : `${timeText(key.last_used_at)}, ${usedText(key, nowMs)}`],
          ['Expires', key.expires_at === null ? 'never' : `${timeText(key.expires_at)}, ${endText(key, nowMs)}`],
          ['Revoked', timeText(key.revoked_at)],
          ['Created', timeText(key.created_at)],
        ],
        width,
        theme,
      ),
      '',
      ...(isOwn ? ['This is the key in use here.'] : []),
      ...wrapText('The key itself is kept nowhere: a node keeps only its hash.', width),
    ],
  };
};
