// Choice of the rows to read next.
import {type ListState, mailAt, rowCount} from './list-state.ts';

/** As the API numbers them: newest first. */
export interface Extract {
  offset: number;
  limit: number;
}

export const pageSize = 200;

/** Undefined when all rows on the screen, and a screen above and below it, are loaded. */
export const missingRows = (state: ListState): Extract | undefined => {
  const {total, position, height} = state;
  if (total === undefined) return {offset: 0, limit: pageSize};
  const count = rowCount(state);
  const {top} = position;
  const inSight = firstMissing(state, top, Math.min(count, top + height));
  const near = inSight ?? firstMissing(state, Math.max(0, top - height), Math.min(count, top + 2 * height));
  if (near === undefined) return undefined;

  // Extends the loaded rows downwards or upwards; without neighbouring rows, reads around the missing one.
  const isBelow = near > 0 && mailAt(state, near - 1) !== undefined;
  let end = near;
  while (end < Math.min(count, near + pageSize) && !mailAt(state, end)) end += 1;
  const isAbove = !isBelow && end < count && end < near + pageSize;
  const first = isBelow ? near : isAbove ? end - pageSize : near - pageSize / 2;
  return extract(state, first);
};

export const rowsAroundCursor = (state: ListState): Extract =>
  state.total === undefined ? {offset: 0, limit: pageSize} : extract(state, state.position.cursor - pageSize / 2);

const firstMissing = (state: ListState, from: number, to: number): number | undefined => {
  for (let at = from; at < to; at += 1) if (!mailAt(state, at)) return at;
  return undefined;
};

const extract = ({order, total = 0}: ListState, first: number): Extract => {
  const from = Math.max(0, Math.min(first, total - pageSize));
  return {offset: order === 'oldest' ? Math.max(0, total - from - pageSize) : from, limit: pageSize};
};
