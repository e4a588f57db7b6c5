// Column of a list, and the tone of a cell.
import type {Health} from '../../shared/health.ts';

export type Cell = string | number | boolean | null | undefined;

export interface Column<T> {
  title: string;
  cell: (row: T) => Cell;
  /** For numbers. */
  align?: 'right';
  /** May be cut when the terminal is too narrow; other columns are never cut. */
  isFlexible?: boolean;
  /** The cell may end in a number of further values, such as `+2`, which is never cut off. */
  endsInCount?: boolean;
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

export type Tone = 'good' | 'warn' | 'bad';

export const healthTones: Record<Health, Tone> = {online: 'good', stale: 'warn', offline: 'bad'};

const codes: Record<Tone, number> = {good: 32, warn: 33, bad: 31};

export const paint = (text: string, tone: Tone | undefined): string =>
  tone === undefined ? text : `\x1b[${codes[tone]}m${text}\x1b[39m`;
