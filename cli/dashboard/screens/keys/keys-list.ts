// List of API keys, with the details of the one under the cursor below it.
import type {ApiKey} from '../../../../shared/api-key.ts';
import {domainNamesOf} from '../../../../shared/scopes.ts';
import {conditionOf, grantText, keyFields} from '../../../key/key-fields.ts';
import {countText, plural, timeText} from '../../../output/cell-text.ts';
import {displayWidth} from '../../../output/display-width.ts';
import {type List, type Order, screenColumns, type TuiColumn} from '../../list/list.ts';
import {hasWords} from '../../list/list-query.ts';
import {detailLines, fitText, pairsOf, wrapText} from '../../shell/fit-text.ts';
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
      return hasWords([String(key.id), key.name, key.key_prefix, key.scope, ...domainNamesOf(key), state, text], words);
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
    order('scope', (a, b) => a.scope.localeCompare(b.scope, 'en') || domainText(a).localeCompare(domainText(b), 'en')),
    order('age', (a, b) => byTime(b.created_at, a.created_at, '')),
  ];
};

const domainText = (key: ApiKey): string => domainNamesOf(key).join(', ');

const byTime = (a: string | null, b: string | null, whenNull: string): number =>
  (a ?? whenNull).localeCompare(b ?? whenNull, 'en');

const {name, id, ...others} = keyFields;

const keyColumns = ({ownId, nowMs}: KeysFacts): TuiColumn<ApiKey>[] => [
  {title: ' ', width: 1, cell: key => (key.id === ownId ? '*' : ' '), style: () => 'accent'},
  ...screenColumns([name, id, ...Object.values(others)], nowMs),
];

/** Details that do not fit in the row. */
const aboutLines = ({ownId, nowMs, theme}: KeysFacts, key: ApiKey | undefined, columns: number): string[] => {
  if (!key) return [theme('─'.repeat(columns), 'dim')];
  const own = key.id === ownId ? ' · the key in use here' : '';
  const title = ` ${key.name} `;
  const width = Math.min(displayWidth(title), columns - 4);
  const end = key.revoked_at === null ? `ends ${timeText(key.expires_at) ?? 'never'}` : `revoked ${timeText(key.revoked_at)}`;
  const tone = conditionOf(key, nowMs).tone === 'bad' ? 'bad' : undefined;
  return [
    theme('──', 'dim') + theme(fitText(title, width), 'bold') + theme('─'.repeat(Math.max(0, columns - 2 - width)), 'dim'),
    ...[
      ` ${key.id} · ${key.key_prefix}… · ${grantText(key)} · ${countText(key.rate_limit_per_minute)} a minute${own}`,
      ` used ${timeText(key.last_used_at) ?? 'never'} · ${end} · made ${timeText(key.created_at)}`,
    ].map(line => theme(fitText(line, columns), tone)),
  ];
};

export const keyPage = (key: ApiKey, {isOwn, nowMs, theme}: {isOwn: boolean; nowMs: number; theme: Theme}): Page => ({
  kind: 'page',
  title: `Key ${key.id}`,
  lines: width => [
    ...detailLines(pairsOf(Object.values(keyFields), key, nowMs), width, theme),
    '',
    ...(isOwn ? ['This is the key in use here.'] : []),
    ...wrapText('The key itself is kept nowhere: a node keeps only its hash.', width),
  ],
});
