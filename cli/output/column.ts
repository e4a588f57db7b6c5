import type {Tone} from './tone.ts';

export type Cell = string | number | boolean | null | undefined;

export interface Column<T> {
  title: string;
  cell: (row: T) => Cell;
  /** For numbers. */
  align?: 'right';
  /** May be cut when the terminal is too narrow; other columns are never cut. */
  isFlexible?: boolean;
  /** Replaces `cell` on a narrow terminal. */
  brief?: (row: T) => Cell;
  /** If the terminal is still too narrow, columns with a rank are left out, the lowest first. */
  dropRank?: number;
  /** Replaces `cell` with `-o wide`. */
  wide?: (row: T) => Cell;
  /** With `-o wide` only. */
  isWideOnly?: boolean;
  tone?: (row: T) => Tone | undefined;
  /** The value that --sort compares, in place of the cell. */
  sortBy?: (row: T) => Cell;
}
