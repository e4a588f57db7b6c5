// List of API keys, with the details of the one under the cursor below it.
import type {ApiKey} from '../../../../shared/api-key.ts';
import {countText, plural, timeText} from '../../../output/cell-text.ts';
import {displayWidth} from '../../../output/display-width.ts';
import type {List, Order} from '../../list/list.ts';
import {hasWords} from '../../list/list-query.ts';
import type {TuiColumn} from '../../list/table-lines.ts';
import {fitText} from '../../shell/fit-text.ts';
import type {Loaded} from '../../shell/source.ts';
import type {Theme} from '../../shell/theme.ts';
import {conditionOf, endText, usedText} from './key-facts.ts';

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
