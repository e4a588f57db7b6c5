// A list that grows at its top while somebody reads it. At its top the cursor stays with the newest; anywhere else, and while it is
// paused, what is read stands still.
import type {KeyName} from '../shell/keys.ts';
import {type ListPosition, listStart, moved, within} from './list-window.ts';

export interface TailRow {
  /** Unlike that of any other row. */
  key: string;
}

export interface Tail<R extends TailRow, Q> {
  /** Newest first. */
  rows: readonly R[];
  /** What has come while it is paused. */
  waiting: readonly R[];
  /** `waiting` will take the place of the rows, as too much has come to follow on to them. */
  isWaitingAnew: boolean;
  isPaused: boolean;
  query: Q;
  /** The rows that match. */
  shown: readonly R[];
  position: ListPosition;
}

export type TailEvent<R extends TailRow, Q> =
  | {kind: 'arrived'; rows: readonly R[]; isAnew?: boolean}
  | {kind: 'moved'; key: KeyName; height: number}
  | {kind: 'paused' | 'resumed'}
  | {kind: 'narrowed'; query: Q; isAnew?: boolean};

export interface TailRules<R extends TailRow, Q> {
  /** Newest first. */
  compare(a: R, b: R): number;
  matches(row: R, query: Q): boolean;
  /** Of the oldest rows, more than this are forgotten. */
  limit: number;
}

export const emptyTail = <R extends TailRow, Q>(query: Q): Tail<R, Q> => ({
  rows: [],
  waiting: [],
  isWaitingAnew: false,
  isPaused: false,
  query,
  shown: [],
  position: listStart,
});

export const createTailReducer = <R extends TailRow, Q>(rules: TailRules<R, Q>) => {
  const withRows = (tail: Tail<R, Q>, rows: readonly R[]): Tail<R, Q> => {
    const shown = rows.filter(row => rules.matches(row, tail.query));
    return {...tail, rows, shown, position: followed(tail, shown)};
  };

  return (tail: Tail<R, Q>, event: TailEvent<R, Q>): Tail<R, Q> => {
    switch (event.kind) {
      case 'arrived':
        if (tail.isPaused) return kept(tail, event, rules);
        return withRows(tail, merged(event.isAnew ? [] : tail.rows, event.rows, rules));
      case 'moved': {
        const extent = {count: tail.shown.length, height: event.height};
        const position = moved(within(tail.position, extent), event.key, extent);
        return position === undefined ? tail : {...tail, position};
      }
      case 'paused':
        return {...tail, isPaused: true};
      case 'resumed': {
        const rows = merged(tail.isWaitingAnew ? [] : tail.rows, tail.waiting, rules);
        return withRows({...tail, isPaused: false, waiting: [], isWaitingAnew: false}, rows);
      }
      case 'narrowed': {
        const start = {...tail, query: event.query, position: listStart};
        return event.isAnew ? emptyTail(event.query) : withRows(start, tail.rows);
      }
      default:
        return event satisfies never;
    }
  };
};

/** The row under the cursor. */
export const rowAt = <R extends TailRow, Q>({shown, position}: Tail<R, Q>, height: number): R | undefined =>
  shown[within(position, {count: shown.length, height}).cursor];

/** What comes while it is paused. */
const kept = <R extends TailRow, Q>(
  tail: Tail<R, Q>,
  {rows, isAnew}: {rows: readonly R[]; isAnew?: boolean},
  rules: TailRules<R, Q>,
): Tail<R, Q> => {
  if (isAnew) return {...tail, waiting: merged([], rows, rules), isWaitingAnew: true};
  const known = new Set(tail.rows.map(({key}) => key));
  const fresh = rows.filter(({key}) => !known.has(key));
  return fresh.length === 0 ? tail : {...tail, waiting: merged(tail.waiting, fresh, rules)};
};

/** What is known of a row now wins over what was known before. */
const merged = <R extends TailRow, Q>(rows: readonly R[], arrived: readonly R[], {compare, limit}: TailRules<R, Q>): R[] => {
  const byKey = new Map(rows.map(row => [row.key, row]));
  for (const row of arrived) byKey.set(row.key, row);
  return [...byKey.values()].sort(compare).slice(0, limit);
};

const followed = <R extends TailRow, Q>({shown: before, position}: Tail<R, Q>, shown: readonly R[]): ListPosition => {
  const {cursor, top} = position;
  if (cursor === 0) return listStart;
  const key = before[cursor]?.key;
  const at = shown.findIndex(row => row.key === key);
  if (at === -1) return {cursor: Math.max(0, Math.min(cursor, shown.length - 1)), top: Math.min(top, cursor)};
  return {cursor: at, top: Math.max(0, top + at - cursor)};
};
