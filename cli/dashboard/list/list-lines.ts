// Lines of a list: title, problems, columns, rows, and panels beside or below them.
import {safeLine} from '../../../shared/safe-text.ts';
import {cellText, countText} from '../../output/cell-text.ts';
import {displayWidth} from '../../output/display-width.ts';
import {layOut, lineOf} from '../../output/layout.ts';
import {fitText, wrapText} from '../shell/fit-text.ts';
import type {Size} from '../shell/shell.ts';
import {ageText} from '../shell/shell-lines.ts';
import type {Style, Theme} from '../shell/theme.ts';
import {type Banner, countOf, followed, type HeadPart, type List, type ListState, queryOf, rowAt, shownRows} from './list.ts';
import {type ListPosition, within} from './list-window.ts';

interface ListLayout {
  size: Size;
  theme: Theme;
  /** False while a modal has the keys. */
  isActive: boolean;
  nowMs: number;
}

/** A list as it is on the screen. */
export interface ShownList<R> {
  rows: readonly R[];
  /** Of all rows, also of those that have not been read. */
  count: number;
  position: ListPosition;
  /** Number of rows that fit. */
  height: number;
  /** Rows below them. */
  below: number;
  /** Under the cursor. */
  row: R | undefined;
}

/** `rows` are the matching rows, if the caller has computed them. */
export const showList = <R>(
  list: List<R>,
  state: ListState,
  {size, nowMs}: Pick<ListLayout, 'size' | 'nowMs'>,
  rows = shownRows(list, state),
): ShownList<R> => {
  const {columns} = size;
  const area = {columns, rows: size.rows - bannersOf(list, nowMs).length - (list.above?.(columns).length ?? 0)};
  const count = countOf(list, rows);
  const below = list.below?.rows(area, count) ?? 0;
  const height = Math.max(1, area.rows - 2 - below);
  const position = within(followed(list, state, rows), {count, height});
  return {rows, count, position, height, below, row: rowAt(list, rows, position.cursor)};
};

const bannersOf = <R>(list: List<R>, nowMs: number): readonly Banner[] => [
  ...failureBanners(list, nowMs),
  ...(list.banners ?? []),
];

const failureBanners = ({failure, loadedAtMs}: Pick<List<never>, 'failure' | 'loadedAtMs'>, nowMs: number): Banner[] => {
  if (!failure) return [];
  const age = loadedAtMs === undefined ? '' : `; this is from ${ageText(nowMs - loadedAtMs)}`;
  return [{text: `✗ cannot be read: ${failure.detail}${age}`, tone: 'bad'}];
};

export const listLines = <R>(
  list: List<R>,
  state: ListState,
  layout: ListLayout,
  shown = showList(list, state, layout),
): string[] => {
  const {size, theme, nowMs} = layout;
  const {columns: width, rows} = size;
  const {row, height} = shown;
  const {beside, below, instead} = list;
  const hasBeside = beside !== undefined && width >= beside.fromColumns;
  const listWidth = hasBeside ? width - beside.width - 3 : width;
  const table = () => tableLines(list, shown, {...layout, size: {columns: listWidth, rows}});
  const body = instead ?? [...table(), ...endingOf(list, state, shown, {width: listWidth, theme})];
  const side = hasBeside ? beside.lines(row) : [];
  const lines = hasBeside ? sideBySide(body, side, {width: listWidth, rows: height + 1, separator: theme(' │ ', 'dim')}) : body;
  const filling = below ? Array.from({length: Math.max(0, height + 1 - lines.length)}, () => '') : [];
  return [
    headLine(list, state, shown, layout),
    ...bannersOf(list, nowMs).map(({text, tone}) => theme(fitText(text, width), tone)),
    ...(list.above?.(width) ?? []),
    ...lines,
    ...filling,
    ...(below?.lines(row, {columns: width, rows: shown.below}) ?? []),
  ].slice(0, rows);
};

/** Below the last row, or in place of rows. */
const endingOf = <R>(
  list: List<R>,
  {filter}: ListState,
  {count, height}: ShownList<R>,
  {width, theme}: {width: number; theme: Theme},
): string[] => {
  const empty = count > 0 ? [] : emptyTexts(list, filter).flatMap(text => wrapText(text, width));
  const ending = list.ending === undefined ? [] : [fitText(list.ending, width)];
  return [...empty, ...ending].slice(0, Math.max(0, height - count)).map(text => theme(text, 'dim'));
};

const emptyTexts = <R>({rows, failure, empty, noneYet}: List<R>, filter: string): readonly string[] => {
  if (rows === undefined) return failure ? [] : ['reading …'];
  if (filter === '' || rows.length === 0) return empty;
  return [noneYet ?? 'Nothing matches; escape shows everything again'];
};

/** The columns and rows that fit. */
const tableLines = <R>(
  list: List<R>,
  {rows, count, position: {cursor, top}, height}: ShownList<R>,
  {size: {columns: width}, theme, isActive}: ListLayout,
): string[] => {
  const shown = Math.max(0, Math.min(height, count - top));
  const visible = Array.from({length: shown}, (_, at) => rowAt(list, rows, top + at));
  const columns = layOut(neededColumns(list, width, visible), width);
  const header = lineOf(
    columns,
    columns.map(({title}) => title),
  );
  const line = (row: R | undefined, isCursor: boolean): string => {
    const style = isCursor ? (isActive ? 'cursor' : 'bold') : undefined;
    const span = row === undefined ? unread : list.spanning?.(row);
    if (span) return theme(fitText(span.text, width), style ?? span.style);
    const texts = columns.map(({cell}) => cellText(cell(row as R)));
    // The cursor inverts the line as a whole.
    const styled = (text: string, column: number) =>
      style === 'cursor' ? text : theme(text, columns[column]?.style?.(row as R));
    return theme(lineOf(columns, texts, styled), style ?? list.rowStyle?.(row as R));
  };
  return [theme(header, 'dim'), ...visible.map((row, at) => line(row, top + at === cursor))];
};

/** On a screen that is too narrow for all of them, columns are cut to this width: a longer line would hide the lines below it. */
const least = 4;

/** The columns, with what the texts on the screen need of those that grow. */
const neededColumns = <R>(list: List<R>, width: number, visible: readonly (R | undefined)[]) => {
  const rows = visible.filter(row => row !== undefined && !list.spanning?.(row)) as R[];
  return list.columns(width).map(column => {
    const {title, cell, grow} = column;
    if (grow === undefined) return {...column, least};
    const need = rows.reduce((most, row) => Math.max(most, displayWidth(cellText(cell(row)))), displayWidth(title));
    return {...column, least, need};
  });
};

const unread = {text: '   …', style: 'dim'} as const;

/** The title, and at the right the state of reading, shortened when the line is too narrow. */
const headLine = <R>(
  list: List<R>,
  state: ListState,
  shown: ShownList<R>,
  {size: {columns: width}, theme, nowMs}: ListLayout,
): string => {
  if (list.bar) return list.bar(shown.position.cursor, width);
  const filter: HeadPart[] = state.filter === '' ? [] : [`filter: ${state.filter}`];
  const parts = [...list.head(shown.rows), ...filter].map(part =>
    typeof part === 'string' ? {text: part, style: undefined} : part,
  );
  const left = safeLine(parts.map(({text}) => text).join(' · '));
  const used = displayWidth(left);
  const {texts, style} = readingOf(list, state, shown, nowMs);
  const right = texts.find(text => used + displayWidth(text) <= width) ?? texts.at(-1) ?? '';
  const available = width - displayWidth(right);
  const painted =
    used > available
      ? theme(fitText(left, available), 'bold')
      : parts.map(part => theme(safeLine(part.text), part.style ?? 'bold')).join(' · ') + ' '.repeat(available - used);
  return painted + theme(right, style);
};

/** From the longest text to the shortest. */
const readingOf = <R>(
  {tail, matches, orders = [], loadedAtMs, ...list}: List<R>,
  {order, filter}: ListState,
  {position: {cursor}, rows}: ShownList<R>,
  nowMs: number,
): {texts: string[]; style: Style | undefined} => {
  if (tail?.isPaused) {
    const query = queryOf(list, filter);
    const waiting = tail.waiting.filter(row => matches(row, query)).length;
    return {texts: [` ‖ paused, ${countText(waiting)} new `], style: 'warn'};
  }
  if (tail && cursor === 0) return {texts: [' ▸ following '], style: 'good'};
  if (tail) return {texts: [` ${countText(cursor + 1)} of ${countText(rows.length)} `], style: undefined};
  const by = orders[order] && `by ${orders[order].name}`;
  const age = loadedAtMs === undefined ? undefined : ageText(nowMs - loadedAtMs);
  const read = age === undefined ? [] : [`read ${age}`];
  return {texts: [` ${[...(by ? [by] : []), ...read].join(' · ')} `, ` ${by ?? age ?? ''} `], style: 'dim'};
};

/** Lines in two columns; those of the left one, which may be styled, are padded to `width`. */
export const sideBySide = (
  left: readonly string[],
  right: readonly string[],
  {width, rows, separator = ''}: {width: number; rows: number; separator?: string},
): string[] =>
  Array.from({length: Math.max(0, rows)}, (_, at) => {
    const text = left[at] ?? '';
    return text + ' '.repeat(Math.max(0, width - displayWidth(plainText(text)))) + separator + (right[at] ?? '');
  });

/** The width of a safe line without its style sequences. */
const plainText = (line: string): string => line.replaceAll(/\x1b\[[\d;]*m/g, '');
