// Window of a long list: the rows on the screen, and the keys that move the cursor.
import type {KeyName} from '../shell/keys.ts';

export interface ListPosition {
  /** Index of the row under the cursor; 0 in an empty list. */
  cursor: number;
  /** Index of the first row that is shown. */
  top: number;
}

export const initialPosition: ListPosition = {cursor: 0, top: 0};

interface ListExtent {
  /** Number of all rows. */
  count: number;
  /** Number of rows that fit. */
  height: number;
}

/** The position, limited to a list of `count` rows, with the cursor on the screen. */
export const within = ({cursor, top}: ListPosition, {count, height}: ListExtent): ListPosition => {
  const at = Math.max(0, Math.min(cursor, count - 1));
  const last = Math.max(0, count - height);
  const highest = Math.max(0, at - height + 1);
  return {cursor: at, top: Math.min(Math.max(Math.min(top, last), highest), at)};
};

export const movedTo = (position: ListPosition, cursor: number, extent: ListExtent): ListPosition =>
  within({...position, cursor}, extent);

/** The position after a key, or undefined when the key does not move. */
export const moved = (position: ListPosition, key: KeyName, extent: ListExtent): ListPosition | undefined => {
  const {cursor} = position;
  const page = Math.max(1, extent.height - 1);
  const to = {
    j: cursor + 1,
    down: cursor + 1,
    k: cursor - 1,
    up: cursor - 1,
    pagedown: cursor + page,
    'ctrl+f': cursor + page,
    pageup: cursor - page,
    'ctrl+b': cursor - page,
    'ctrl+d': cursor + Math.ceil(page / 2),
    'ctrl+u': cursor - Math.ceil(page / 2),
    g: 0,
    home: 0,
    G: extent.count - 1,
    end: extent.count - 1,
  }[key];
  return to === undefined ? undefined : movedTo(position, to, extent);
};

export const movingKeys: readonly KeyName[] = [
  ...['j', 'down', 'k', 'up', 'pagedown', 'ctrl+f', 'pageup', 'ctrl+b', 'ctrl+d', 'ctrl+u', 'g', 'home', 'G', 'end'],
];
