import type {Tone} from './tone.ts';

export type Cell = string | number | boolean | null | undefined;

export interface Column<T> {
  title: string;
  cell: (row: T) => Cell;
  /** Numbers are read from the right. */
  align?: 'right';
  /** May be cut when the terminal is too narrow; every other column stays whole. */
  isFlexible?: boolean;
  /** Takes the place of `cell` on a narrow terminal. */
  brief?: (row: T) => Cell;
  /** On a terminal that is still too narrow then, columns with a rank are left out, the lowest first. */
  dropRank?: number;
  /** Takes the place of `cell` with `-o wide`, where there is more to tell. */
  wide?: (row: T) => Cell;
  /** With `-o wide` only. */
  isWideOnly?: boolean;
  tone?: (row: T) => Tone | undefined;
  /** The value that --sort compares, where that is not the cell. */
  sortBy?: (row: T) => Cell;
}
