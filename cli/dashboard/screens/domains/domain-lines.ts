// How one domain looks: its settings, and below or beside them its mail filters and DKIM keys.
import type {DkimKey} from '../../../../shared/dkim-key.ts';
import type {Domain} from '../../../../shared/domain.ts';
import type {MailFilter} from '../../../../shared/mail-filter.ts';
import {briefTimeText, timeText} from '../../../output/cell-text.ts';
import type {Banner} from '../../list/list.ts';
import {sideBySide} from '../../list/list-lines.ts';
import {placeColumns, rowLine, type TuiColumn} from '../../list/table-lines.ts';
import {detailLines, valueText} from '../../shell/detail-lines.ts';
import {fitText} from '../../shell/fit-text.ts';
import type {Page} from '../../shell/modal.ts';
import type {Size} from '../../shell/shell.ts';
import type {Theme} from '../../shell/theme.ts';
import {settingPairs} from './domains-list.ts';
import {actionText, matchText} from './part-actions.ts';

/** One domain with all that belongs to it. */
export interface WholeDomain {
  domain: Domain;
  filters: readonly MailFilter[];
  keys: readonly DkimKey[];
}

export type Part = {kind: 'filter'; filter: MailFilter} | {kind: 'key'; key: DkimKey};

/** In the order in which they are shown. */
export const partsOf = ({filters, keys}: WholeDomain): Part[] => [
  ...filters.map(filter => ({kind: 'filter', filter}) as const),
  ...keys.map(key => ({kind: 'key', key}) as const),
];

interface Room {
  size: Size;
  theme: Theme;
  isActive: boolean;
}

const sideWidth = 58;
const besideFrom = 130;

export const domainLines = (
  whole: WholeDomain & {held: number | undefined},
  cursor: number,
  banners: readonly Banner[],
  room: Room,
): string[] => {
  const {size, theme} = room;
  const {columns: width, rows} = size;
  const {domain, held, keys} = whole;
  const head = [
    theme(fitText(domain.name, width), 'bold'),
    ...[...banners, ...keyBanner(domain, keys)].map(({text, tone}) => theme(fitText(text, width), tone)),
  ];
  if (width >= besideFrom) {
    const height = rows - head.length;
    const settings = detailLines(settingPairs({...domain, held}), sideWidth, theme);
    const parts = partWindow(whole, cursor, {...room, size: {columns: width - sideWidth - 3, rows: height}});
    const lines = sideBySide(settings, parts, {width: sideWidth, rows: height, separator: theme(' │ ', 'dim')});
    return [...head, ...lines].slice(0, rows);
  }
  const settings = inTwo({...domain, held}, width, theme);
  const parts = partWindow(whole, cursor, {
    ...room,
    size: {columns: width, rows: Math.max(0, rows - head.length - settings.length)},
  });
  return [...head, ...settings, ...parts].slice(0, rows);
};

const keyBanner = ({dkim_active, name}: Domain, keys: readonly DkimKey[]): Banner[] =>
  dkim_active && keys.length === 0
    ? [{text: `! DKIM is on and there is no key: mail of ${name} leaves unsigned; d makes a key`, tone: 'warn'}]
    : [];

/** Two columns; the backends have a line of their own, as they are long. */
const inTwo = (domain: Domain & {held: number | undefined}, width: number, theme: Theme): string[] => {
  const pairs = settingPairs(domain);
  const backends = pairs.filter(([label]) => label === 'Backends');
  const others = pairs
    .filter(([label]) => label !== 'Backends')
    .map(([label, value, style]) => [label, valueText(value), style] as const);
  const half = Math.ceil(others.length / 2);
  const left = Math.floor(width / 2);
  const columns = [others.slice(0, half), others.slice(half)].map(some => some.map(pair => pairLine(pair, left - 1, theme)));
  const lines = Array.from({length: half}, (_, at) => `${columns[0]?.[at] ?? ''} ${columns[1]?.[at] ?? ''}`);
  return [...lines, ...backends.map(([label, value]) => pairLine([label, valueText(value), undefined], width, theme))];
};

const labelWidth = 15;

const pairLine = ([label, value, style]: readonly [string, string, Parameters<Theme>[1]], width: number, theme: Theme): string =>
  `${theme(fitText(label, labelWidth), 'dim')}  ${theme(fitText(value, width - labelWidth - 2), style)}`;

/** As many lines of the filters and keys as have room, with the cursor in the midst of a long list. */
const partWindow = (whole: WholeDomain, cursor: number, {size, theme, isActive}: Room): string[] => {
  const {columns: width, rows} = size;
  const {filters, keys} = whole;
  const style = (at: number) => (at === cursor ? (isActive ? 'cursor' : 'bold') : undefined);
  const filterColumnsPlaced = placeColumns(filterColumns, width);
  const keyColumnsPlaced = placeColumns(keyColumns, width);
  const lines = [
    titleLine(`Mail filters (${filters.length})`, filters.length === 0 ? 'none; f makes one' : '', width, theme),
    ...filters.map((filter, at) => rowLine(filter, filterColumnsPlaced, theme, style(at))),
    titleLine(`DKIM keys (${keys.length})`, keys.length === 0 ? 'none; d makes one' : 'enter shows the DNS record', width, theme),
    ...keys.map((key, at) => rowLine(key, keyColumnsPlaced, theme, style(filters.length + at))),
  ];
  const cursorLine = cursor < filters.length ? cursor + 1 : cursor + 2;
  const top = Math.max(0, Math.min(cursorLine - Math.floor(rows / 2), lines.length - rows));
  return lines.slice(top, top + rows);
};

const titleLine = (title: string, hint: string, width: number, theme: Theme): string => {
  const text = `── ${title} `;
  const rest = hint === '' ? '' : `· ${hint} `;
  return theme(text, 'bold') + theme(fitText(`${rest}${'─'.repeat(width)}`, width - text.length).replace(/…$/, '─'), 'dim');
};

const filterColumns: TuiColumn<MailFilter>[] = [
  {
    title: 'ACTION',
    cell: actionText,
    width: 8,
    style: ({action}) => (action === 'allow' ? 'good' : action === 'block' ? 'bad' : 'warn'),
  },
  {title: 'MATCH', cell: matchText, width: 14, grow: 1},
  {title: 'PATTERN', cell: ({pattern}) => pattern, width: 20, grow: 3},
  {title: 'COMMENT', cell: ({comment}) => comment, width: 14, grow: 2},
  {title: 'CREATED', cell: ({created_at}) => briefTimeText(created_at), width: 12, dropRank: 1},
];

const keyColumns: TuiColumn<DkimKey>[] = [
  {title: 'SELECTOR', cell: ({selector}) => selector, width: 14, grow: 1},
  {title: 'ALGORITHM', cell: ({algorithm}) => algorithm, width: 9},
  {title: 'DNS NAME', cell: key => key.dns_name, width: 24, grow: 3},
  {title: 'CREATED', cell: ({created_at}) => briefTimeText(created_at), width: 12, dropRank: 1},
];

export const filterPage = (filter: MailFilter, theme: Theme): Page => ({
  kind: 'page',
  title: 'Mail filter',
  lines: width =>
    detailLines(
      [
        ['ID', filter.id],
        ['Action', actionText(filter)],
        ['Match', matchText(filter)],
        ['Pattern', filter.pattern],
        ['Comment', filter.comment],
        ['Created', timeText(filter.created_at)],
      ],
      width,
      theme,
    ),
});
