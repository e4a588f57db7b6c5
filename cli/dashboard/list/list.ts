// List with a cursor: the definition of one list, and the state that all lists share. Plain data.
import type {CliError} from '../../errors.ts';
import type {Cell, Tone} from '../../output/column.ts';
import type {Field} from '../../output/field.ts';
import type {Prompt} from '../shell/modal.ts';
import type {Size} from '../shell/shell.ts';
import type {Style} from '../shell/theme.ts';
import {type ListQuery, parseListFilter} from './list-query.ts';
import {initialPosition, type ListPosition} from './list-window.ts';

export interface Banner {
  text: string;
  tone: Tone;
}

export interface Order<R> {
  /** As in `by name`. */
  name: string;
  compare(a: R, b: R): number;
}

export interface List<R> {
  /** All rows, also those that a filter hides; undefined until they have been read. */
  rows: readonly R[] | undefined;
  /** Set for a list that is filtered, sorted and kept elsewhere: `rows` are those from `offset` on, of so many. */
  part?: {offset: number; count: number};
  /** Unique among the rows. */
  keyOf(row: R): string;
  columns(width: number): readonly TuiColumn<R>[];
  /** The parts of the top line, such as `Domains` and `2 of 3`. */
  head(shown: readonly R[]): readonly HeadPart[];
  /** Replaces the top line. */
  bar?(cursor: number, width: number): string;
  matches(row: R, query: ListQuery): boolean;
  /** Names of filters besides words, with their known values. */
  terms?: Readonly<Record<string, readonly string[]>>;
  /** The hint for the filter prompt. */
  hint: string;
  /** The filter that a typed text stands for, where it is not the text itself. */
  meaning?(typed: string): string;
  /** What is special about that prompt. */
  prompt?: Partial<Pick<Prompt, 'label' | 'text' | 'hint' | 'complete'>>;
  /** Why a filter is invalid. */
  check?(query: ListQuery): string | undefined;
  /** The first one is the default; without orders the rows stay as given. */
  orders?: readonly Order<R>[];
  /** Set for a list that grows at its top. A cursor at the top stays on the newest row. */
  tail?: {isPaused: boolean; waiting: readonly R[]};
  loadedAtMs?: number | undefined;
  failure?: CliError | undefined;
  /** Further problems. */
  banners?: readonly Banner[];
  /** Shown when there are no rows at all. */
  empty: readonly string[];
  /** Shown when no row read so far matches and more may follow. */
  noneYet?: string | undefined;
  rowStyle?(row: R): Style | undefined;
  /** A row without columns: one text over the whole width. */
  spanning?(row: R): {text: string; style: Style} | undefined;
  /** Below the last row. */
  ending?: string | undefined;
  /** Right of the rows, if the screen is wide enough. */
  beside?: {fromColumns: number; width: number; lines(row: R | undefined): readonly string[]};
  /** Above the columns, `width` cells wide. */
  above?(width: number): readonly string[];
  /** Below the rows. */
  below?: {rows(size: Size, count: number): number; lines(row: R | undefined, size: Size): readonly string[]};
  /** In place of columns and rows. */
  instead?: readonly string[] | undefined;
}

export type HeadPart = string | {text: string; style: Style | undefined};

export interface ListState {
  /** As it was typed. */
  filter: string;
  /** Index of the order. */
  order: number;
  /** The row that the cursor follows when the list changes; undefined when the cursor keeps its place. */
  cursorKey: string | undefined;
  /** The last position of that row. */
  position: ListPosition;
  /** Filters that were typed, oldest first. */
  history: readonly string[];
}

export type ListEvent =
  | {kind: 'placed'; position: ListPosition; cursorKey: string | undefined}
  | {kind: 'chosen'; cursorKey: string}
  | {kind: 'filtered'; filter: string}
  | {kind: 'sorted'; order: number};

export const initialList: ListState = {filter: '', order: 0, cursorKey: undefined, position: initialPosition, history: []};

const maxHistory = 50;

export const listReducer = (state: ListState, event: ListEvent): ListState => {
  switch (event.kind) {
    case 'placed':
      return {...state, position: event.position, cursorKey: event.cursorKey};
    case 'chosen':
      return {...state, cursorKey: event.cursorKey};
    case 'filtered': {
      const filter = event.filter.trim();
      const earlier = state.history.filter(text => text !== filter);
      const history = filter === '' ? state.history : [...earlier, filter].slice(-maxHistory);
      return {...state, filter, history, cursorKey: undefined, position: initialPosition};
    }
    case 'sorted':
      return {...state, order: event.order};
    default:
      return event satisfies never;
  }
};

export const queryOf = ({terms = {}}: Pick<List<never>, 'terms'>, filter: string): ListQuery =>
  parseListFilter(filter, Object.keys(terms));

/** The matching rows, in the current order. */
export const shownRows = <R>(list: List<R>, {filter, order}: Pick<ListState, 'filter' | 'order'>): readonly R[] => {
  const {rows = [], orders = []} = list;
  const query = queryOf(list, filter);
  const matching = query.text === '' ? rows : rows.filter(row => list.matches(row, query));
  const chosen = orders[order];
  return chosen ? [...matching].sort(chosen.compare) : matching;
};

/** The number of rows, with those that have not been read. */
export const countOf = <R>({part}: Pick<List<R>, 'part'>, rows: readonly R[]): number => part?.count ?? rows.length;

/** Undefined while it has not been read. */
export const rowAt = <R>({part}: Pick<List<R>, 'part'>, rows: readonly R[], index: number): R | undefined =>
  rows[index - (part?.offset ?? 0)];

/** The position after the list has changed. The cursor's row keeps its line on the screen; when it is gone, the cursor stays in place. */
export const followed = <R>(
  list: Pick<List<R>, 'keyOf' | 'part'>,
  {cursorKey, position}: Pick<ListState, 'cursorKey' | 'position'>,
  rows: readonly R[],
): ListPosition => {
  const {cursor, top} = position;
  const found = cursorKey === undefined ? -1 : rows.findIndex(row => list.keyOf(row) === cursorKey);
  const at = found + (list.part?.offset ?? 0);
  if (found !== -1) return {cursor: at, top: Math.max(0, top + at - cursor)};
  return rows.length === 0 ? position : {cursor: Math.min(cursor, countOf(list, rows) - 1), top};
};

/** The event that stores a position: at the top of a tail the cursor follows the newest row. */
export const placedAt = <R>(
  list: Pick<List<R>, 'keyOf' | 'tail' | 'part'>,
  rows: readonly R[],
  position: ListPosition,
): Extract<ListEvent, {kind: 'placed'}> => {
  const row = rowAt(list, rows, position.cursor);
  const isNewest = list.tail !== undefined && position.cursor === 0;
  return {kind: 'placed', position, cursorKey: row === undefined || isNewest ? undefined : list.keyOf(row)};
};

/** The event that stores the new position after the rows have changed; undefined when nothing has moved. */
export const settled = <R>(list: List<R>, state: ListState, rows: readonly R[]): ListEvent | undefined => {
  const position = followed(list, state, rows);
  const row = rowAt(list, rows, position.cursor);
  if (row === undefined) return undefined;
  const placed = placedAt(list, rows, position);
  // In a part the cursor may have been placed before its row was read.
  const isOther = list.part
    ? placed.cursorKey !== state.cursorKey
    : state.cursorKey !== undefined && list.keyOf(row) !== state.cursorKey;
  return isOther || position.cursor !== state.position.cursor ? placed : undefined;
};

export interface TuiColumn<T> {
  title: string;
  cell(row: T): Cell;
  /** Width in cells. A `grow` column has more if there is room, and gives what its texts do not need to others. */
  width: number;
  /** Its share of the remaining width. */
  grow?: number;
  align?: 'right';
  endsInCount?: boolean | undefined;
  style?(row: T): Style | undefined;
  /** On a narrow screen columns with a rank are left out, the lowest first. */
  dropRank?: number;
}

export const screenColumns = <T, Facts>(fields: readonly Field<T, Facts>[], facts: Facts): TuiColumn<T>[] =>
  fields.flatMap(({label, cell, column, screen}): TuiColumn<T>[] => {
    if (!screen) return [];
    const {title = column?.title ?? label.toUpperCase(), align = column?.align, style, ...size} = screen;
    const cells = {cell: (row: T) => (screen.cell ?? cell)(row, facts), style: (row: T) => style?.(row, facts)};
    return [{...size, ...cells, title, endsInCount: column?.endsInCount, ...(align && {align})}];
  });
