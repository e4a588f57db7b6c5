// Tail: rows of a list that grows at its top. While it is paused, the shown rows do not move. Plain data.

interface TailRow {
  /** Unique among the rows. */
  key: string;
}

export interface Tail<R extends TailRow> {
  /** Newest first. */
  rows: readonly R[];
  /** Rows that arrived while it was paused. */
  waiting: readonly R[];
  /** `waiting` will replace the rows, as too many arrived to join them. */
  replacesRows: boolean;
  isPaused: boolean;
}

export type TailEvent<R extends TailRow> =
  /** `isNewList`: there may be a gap between these and the present rows. */
  | {kind: 'arrived'; rows: readonly R[]; isNewList?: boolean}
  /** They are not new, so a paused list shows them too. */
  | {kind: 'older-read'; rows: readonly R[]}
  | {kind: 'pause-toggled'};

interface TailRules<R extends TailRow> {
  /** Newest first. */
  compare(a: R, b: R): number;
  /** The oldest rows beyond this number are dropped. */
  limit: number;
}

export const emptyTail: Tail<never> = {rows: [], waiting: [], replacesRows: false, isPaused: false};

export const createTailReducer =
  <R extends TailRow>(rules: TailRules<R>) =>
  (tail: Tail<R>, event: TailEvent<R>): Tail<R> => {
    switch (event.kind) {
      case 'arrived':
        if (tail.isPaused) return withWaiting(tail, event, rules);
        return {...tail, rows: merged(event.isNewList ? [] : tail.rows, event.rows, rules)};
      case 'older-read':
        return {...tail, rows: merged(tail.rows, event.rows, rules)};
      case 'pause-toggled':
        if (!tail.isPaused) return {...tail, isPaused: true};
        return {...emptyTail, rows: merged(tail.replacesRows ? [] : tail.rows, tail.waiting, rules)};
      default:
        return event satisfies never;
    }
  };

const withWaiting = <R extends TailRow>(
  tail: Tail<R>,
  {rows, isNewList}: {rows: readonly R[]; isNewList?: boolean},
  rules: TailRules<R>,
): Tail<R> => {
  if (isNewList) return {...tail, waiting: merged([], rows, rules), replacesRows: true};
  const known = new Set(tail.rows.map(({key}) => key));
  const fresh = rows.filter(({key}) => !known.has(key));
  return fresh.length === 0 ? tail : {...tail, waiting: merged(tail.waiting, fresh, rules)};
};

/** The newer version of a row wins. */
const merged = <R extends TailRow>(rows: readonly R[], arrived: readonly R[], {compare, limit}: TailRules<R>): R[] => {
  const byKey = new Map(rows.map(row => [row.key, row]));
  for (const row of arrived) byKey.set(row.key, row);
  return [...byKey.values()].sort(compare).slice(0, limit);
};

/** The key that pauses, for the screen of the list. */
export const pauseBinding = ({isPaused}: Pick<Tail<TailRow>, 'isPaused'>, toggle: () => void) => ({
  keys: ['p', 'space'],
  label: isPaused ? 'go on' : 'pause',
  help: 'pause or continue: entries that arrive meanwhile are counted and kept',
  run: toggle,
});
