import type {ApiKey} from '../../../../shared/api-key.ts';
import {countText, plural, timeText} from '../../../output/cell-text.ts';
import {displayWidth} from '../../../output/display-width.ts';
import {headerLine, placeColumns, rowLine, type TuiColumn} from '../../list/table-lines.ts';
import {fitText} from '../../shell/fit-text.ts';
import type {Size} from '../../shell/shell.ts';
import {ageText} from '../../shell/shell-lines.ts';
import type {Theme} from '../../shell/theme.ts';
import {conditionOf, endText, usedText} from './key-facts.ts';
import {type KeysState, positionIn} from './keys-state.ts';

export interface KeysView {
  /** Undefined until they have been read. */
  all: readonly ApiKey[] | undefined;
  shown: readonly ApiKey[];
  state: KeysState;
  /** The key that asks. */
  ownId: number;
  loadedAtMs: number | undefined;
  /** The last reading failed: what is shown is from before. */
  isOld: boolean;
  /** In place of the list. */
  instead: string;
  isActive: boolean;
  nowMs: number;
}

/** Rows around the list: what it is, its header, and three about the key under the cursor. */
const otherRows = 5;

export const listHeight = ({rows}: Size): number => Math.max(1, rows - otherRows);

const keyColumns = ({ownId, nowMs}: KeysView): TuiColumn<ApiKey>[] => [
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

export const keysLines = (view: KeysView, {size, theme}: {size: Size; theme: Theme}): string[] => {
  const {all, shown, state, isActive} = view;
  if (!all) return [` ${fitText(view.instead, size.columns - 1)}`];
  const columns = placeColumns(keyColumns(view), size.columns);
  const height = listHeight(size);
  const {cursor, top} = positionIn(state, shown, height);
  const rows = shown.slice(top, top + height).map((key, at) => {
    const isHere = top + at === cursor;
    const isOver = conditionOf(key, view.nowMs).state === 'revoked';
    return rowLine(key, columns, theme, isHere ? (isActive ? 'cursor' : 'dim') : isOver ? 'dim' : undefined);
  });
  const empty = all.length === 0 ? 'no keys' : `no key matches “${state.filter}”; / changes the filter, escape takes it away`;
  const list = rows.length > 0 ? rows : [` ${fitText(empty, size.columns - 1)}`];
  const filling = Array.from({length: height - list.length}, () => '');
  return [
    totalsLine(view, size, theme),
    headerLine(columns, theme),
    ...list,
    ...filling,
    ...aboutLines(view, shown[cursor], size, theme),
  ];
};

const totalsLine = ({all = [], shown, state, loadedAtMs, isOld, nowMs}: KeysView, {columns}: Size, theme: Theme): string => {
  const count =
    shown.length === all.length ? plural(all.length, 'key') : `${countText(shown.length)} of ${plural(all.length, 'key')}`;
  const warned = all.filter(key => conditionOf(key, nowMs).rank < 4).length;
  const parts = [
    count,
    ...(warned > 0 ? [`▲ ${warned} to look at`] : []),
    `by ${state.sorting}`,
    ...(state.filter === '' ? [] : [`filter: ${state.filter}`]),
  ];
  const left = fitText(` ${parts.join(' · ')}`, columns - 14);
  const age = loadedAtMs === undefined ? '' : `read ${ageText(nowMs - loadedAtMs)} `;
  return theme(left, warned > 0 ? 'warn' : 'bold') + theme(fitText(age, 14, 'right'), isOld ? 'warn' : 'dim');
};

/** What has no room in the row. */
const aboutLines = ({ownId, nowMs}: KeysView, key: ApiKey | undefined, {columns}: Size, theme: Theme): string[] => {
  if (!key) return [theme('─'.repeat(columns), 'dim')];
  const own = key.id === ownId ? ' · the key in use here' : '';
  const domain = key.domain === null ? '' : ` for ${key.domain}`;
  const title = ` ${key.name} `;
  const width = Math.min(displayWidth(title), columns - 4);
  return [
    `${theme('──', 'dim')}${theme(fitText(title, width), 'bold')}${theme('─'.repeat(Math.max(0, columns - 2 - width)), 'dim')}`,
    fitText(
      ` ${key.id} · ${key.key_prefix}… · ${key.scope}${domain} · ${countText(key.rate_limit_per_minute)} a minute${own}`,
      columns,
    ),
    fitText(
      ` used ${timeText(key.last_used_at) ?? 'never'} · ${key.revoked_at === null ? `ends ${timeText(key.expires_at) ?? 'never'}` : `revoked ${timeText(key.revoked_at)}`} · made ${timeText(key.created_at)}`,
      columns,
    ),
  ].map((line, at) => (at === 0 ? line : theme(line, conditionOf(key, nowMs).tone === 'bad' ? 'bad' : undefined)));
};
