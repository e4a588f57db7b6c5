// A list with a cursor: what is special to one list, and the state that all of them share. Plain data.
import type {CliError} from '../../errors.ts';
import type {Tone} from '../../output/tone.ts';
import type {Size} from '../shell/shell.ts';
import type {Style} from '../shell/theme.ts';
import {type ListQuery, parseQuery} from './list-query.ts';
import {type ListPosition, listStart} from './list-window.ts';
import type {TuiColumn} from './table-lines.ts';

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
  /** In all, also those that a filter leaves out; undefined until they have been read. */
  rows: readonly R[] | undefined;
  /** Unlike that of any other row. */
  keyOf(row: R): string;
  columns(width: number): readonly TuiColumn<R>[];
  /** The parts of the line above all, such as `Domains` and `2 of 3`. */
  head(shown: readonly R[]): readonly HeadPart[];
  matches(row: R, query: ListQuery): boolean;
  /** What a filter knows besides words, with the values that are known of it. */
  terms?: Readonly<Record<string, readonly string[]>>;
  /** What a filter may be made of. */
  hint: string;
  /** Why such a filter cannot be used. */
  check?(query: ListQuery): string | undefined;
  /** The first one is that of the beginning; without any the rows stay as they come. */
  orders?: readonly Order<R>[];
  /** Of a list that grows at its top. The cursor at its top stays with the newest row. */
  tail?: {isPaused: boolean; waiting: readonly R[]};
  loadedAtMs?: number | undefined;
  failure?: CliError | undefined;
  /** What else is wrong. */
  banners?: readonly Banner[];
  /** In place of rows when there are none at all. */
  empty: readonly string[];
  /** In place of rows when none of those read so far matches, if more may follow. */
  noneYet?: string | undefined;
  rowStyle?(row: R): Style | undefined;
  /** A row that is no table row: one text over all columns. */
  spanning?(row: R): {text: string; style: Style} | undefined;
  /** Below the last row. */
  ending?: string | undefined;
  /** Right of the rows, where there is room for both. */
  beside?: {fromColumns: number; width: number; lines(row: R | undefined): readonly string[]};
  /** Above the columns, in so many cells. */
  above?(width: number): readonly string[];
  /** Below the rows. */
  below?: {rows(size: Size, count: number): number; lines(row: R | undefined, size: Size): readonly string[]};
}

export type HeadPart = string | {text: string; style: Style | undefined};

export interface ListState {
  /** As it was typed. */
  filter: string;
  /** Index of the order. */
  order: number;
  /** The row under the cursor, which stays there when the list changes around it; undefined for whatever row is there. */
  cursorKey: string | undefined;
  /** Where that row was last. */
  position: ListPosition;
}

export type ListEvent =
  | {kind: 'placed'; position: ListPosition; cursorKey: string | undefined}
  | {kind: 'chosen'; cursorKey: string}
  | {kind: 'filtered'; filter: string}
  | {kind: 'sorted'; orders: number};

export const listBegin: ListState = {filter: '', order: 0, cursorKey: undefined, position: listStart};

export const listReducer = (state: ListState, event: ListEvent): ListState => {
  switch (event.kind) {
    case 'placed':
      return {...state, position: event.position, cursorKey: event.cursorKey};
    case 'chosen':
      return {...state, cursorKey: event.cursorKey};
    case 'filtered':
      return {...state, filter: event.filter.trim(), cursorKey: undefined, position: listStart};
    case 'sorted':
      return {...state, order: (state.order + 1) % event.orders};
    default:
      return event satisfies never;
  }
};

export const queryOf = ({terms = {}}: Pick<List<never>, 'terms'>, filter: string): ListQuery =>
  parseQuery(filter, Object.keys(terms));

/** The rows that match, in their order. */
export const shownRows = <R>(list: List<R>, {filter, order}: Pick<ListState, 'filter' | 'order'>): readonly R[] => {
  const {rows = [], orders = []} = list;
  const query = queryOf(list, filter);
  const matching = query.text === '' ? rows : rows.filter(row => list.matches(row, query));
  const chosen = orders[order];
  return chosen ? [...matching].sort(chosen.compare) : matching;
};

/** Where the cursor goes with its row. That row keeps its line on the screen; one that has gone leaves the cursor where it was. */
export const followed = <R>(
  {cursorKey, position}: Pick<ListState, 'cursorKey' | 'position'>,
  rows: readonly R[],
  keyOf: (row: R) => string,
): ListPosition => {
  const {cursor, top} = position;
  const at = cursorKey === undefined ? -1 : rows.findIndex(row => keyOf(row) === cursorKey);
  if (at !== -1) return {cursor: at, top: Math.max(0, top + at - cursor)};
  return rows.length === 0 ? position : {cursor: Math.min(cursor, rows.length - 1), top};
};

/** What is remembered of a place: at the top of a tail no row, but the newest one. */
export const placedAt = <R>(
  {keyOf, tail}: Pick<List<R>, 'keyOf' | 'tail'>,
  rows: readonly R[],
  position: ListPosition,
): ListEvent => {
  const row = rows[position.cursor];
  const isNewest = tail !== undefined && position.cursor === 0;
  return {kind: 'placed', position, cursorKey: row === undefined || isNewest ? undefined : keyOf(row)};
};

/** What has to be remembered after the rows have changed; undefined when nothing has moved. */
export const settled = <R>(list: List<R>, state: ListState, rows: readonly R[]): ListEvent | undefined => {
  const position = followed(state, rows, list.keyOf);
  const row = rows[position.cursor];
  if (row === undefined) return undefined;
  const isGone = state.cursorKey !== undefined && list.keyOf(row) !== state.cursorKey;
  return isGone || position.cursor !== state.position.cursor ? placedAt(list, rows, position) : undefined;
};
