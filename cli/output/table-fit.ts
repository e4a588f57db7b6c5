// How a table is made to fit a terminal: first by shorter cells, then without the columns that matter least, then by cutting.
import type {Cell, Column} from './column.ts';
import {displayWidth} from './display-width.ts';

/** The columns that are shown, in their order; `cells` has a text for each of them per row. */
export interface FittedTable<T> {
  columns: readonly Column<T>[];
  cells: string[][];
  widths: number[];
}

interface Input<T> {
  rows: readonly T[];
  columns: readonly Column<T>[];
  /** Undefined where nothing has to fit. */
  maxWidth: number | undefined;
  toText(cell: Cell): string;
}

export const gap = '  ';

/** A flexible column is cut no further as long as another way of making room is left. */
const comfortableWidth = 14;
const minimumWidth = 8;

/** Undefined when the terminal is too narrow even for that. */
export const fitTable = <T>({rows, columns, maxWidth, toText}: Input<T>): FittedTable<T> | undefined => {
  const laidOut = (shown: readonly Column<T>[]): FittedTable<T> => {
    const cells = rows.map(row => shown.map(({cell}) => toText(cell(row))));
    return {columns: shown, cells, widths: naturalWidths([shown.map(({title}) => title), ...cells])};
  };

  const full = laidOut(columns);
  if (maxWidth === undefined || neededWidth(full) <= maxWidth) return cut(full, maxWidth);

  let shown = columns.map(column => ({...column, cell: column.brief ?? column.cell}));
  let fitted = laidOut(shown);
  const ranks = [...new Set(columns.flatMap(({dropRank}) => dropRank ?? []))].sort((a, b) => a - b);
  for (const rank of ranks) {
    if (neededWidth(fitted) <= maxWidth) break;
    shown = shown.filter(({dropRank}) => dropRank !== rank);
    fitted = laidOut(shown);
  }
  return cut(fitted, maxWidth);
};

const naturalWidths = (lines: readonly (readonly string[])[]): number[] => {
  const widths: number[] = [];
  for (const line of lines) for (const [at, text] of line.entries()) widths[at] = Math.max(widths[at] ?? 0, displayWidth(text));
  return widths;
};

const totalWidth = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1));

const neededWidth = <T>({columns, widths}: FittedTable<T>): number =>
  totalWidth(widths.map((width, at) => (columns[at]?.isFlexible ? Math.min(width, comfortableWidth) : width)));

/** Takes what is too much from the widest flexible column, one cell at a time, so that they end up even. */
const cut = <T>(table: FittedTable<T>, maxWidth: number | undefined): FittedTable<T> | undefined => {
  const widths = [...table.widths];
  if (maxWidth === undefined) return table;

  for (let excess = totalWidth(widths) - maxWidth; excess > 0; excess -= 1) {
    let widest = -1;
    for (const [at, column] of table.columns.entries())
      if (column.isFlexible && (widths[at] ?? 0) > (widest < 0 ? minimumWidth : (widths[widest] ?? 0))) widest = at;
    if (widest < 0) return undefined;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return {...table, widths};
};
