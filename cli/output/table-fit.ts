// Columns that fit a width: first by shorter cells, then without the least important columns, then by cutting.
import {cellText} from './cell-text.ts';
import type {Column} from './column.ts';
import {displayWidth} from './display-width.ts';
import {paint, type Tone} from './tone.ts';

export const gap = '  ';

/** The width of a line, with the gaps between its columns. */
export const lineWidth = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, gap.length * Math.max(0, widths.length - 1));

interface FitNeeds<C> {
  /** Undefined when nothing has to fit. */
  maxWidth: number | undefined;
  widthOf(column: C): number;
  /** The same column with shorter cells, if it has them. */
  briefly?(column: C): C;
}

/** The columns that fit; flexible ones may still have to be cut. */
export const fittingColumns = <C extends {dropRank?: number}>(
  columns: readonly C[],
  {maxWidth, widthOf, briefly}: FitNeeds<C>,
): readonly C[] => {
  const fits = (shown: readonly C[]): boolean => maxWidth === undefined || lineWidth(shown.map(widthOf)) <= maxWidth;
  if (fits(columns)) return columns;

  let shown = briefly ? columns.map(briefly) : columns;
  const ranks = [...new Set(columns.flatMap(({dropRank}) => dropRank ?? []))].sort((a, b) => a - b);
  for (const rank of ranks) {
    if (fits(shown)) break;
    shown = shown.filter(({dropRank}) => dropRank !== rank);
  }
  return shown;
};

/** A column of a complete table. */
export interface FittedColumn<T> extends Column<T> {
  width: number;
  /** One for each row; some may be wider than the column. */
  texts: readonly string[];
}

/** A flexible column is cut below this width only when nothing else can be shortened. */
const comfortableWidth = 14;
const minimumWidth = 8;

/** Undefined when the terminal is too narrow even for that. */
export const fitTable = <T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  maxWidth: number | undefined,
): readonly FittedColumn<T>[] | undefined => {
  const measured = (column: Column<T>): FittedColumn<T> => {
    const texts = rows.map(row => cellText(column.cell(row)));
    return {
      ...column,
      texts,
      width: texts.reduce((most, text) => Math.max(most, displayWidth(text)), displayWidth(column.title)),
    };
  };
  const shown = fittingColumns(columns.map(measured), {
    maxWidth,
    widthOf: ({width, isFlexible}) => (isFlexible ? Math.min(width, comfortableWidth) : width),
    briefly: column => (column.brief ? measured({...column, cell: column.brief}) : column),
  });
  return maxWidth === undefined ? shown : cut(shown, maxWidth);
};

/** Shortens the widest flexible column by one cell at a time, so that the columns end up even. */
const cut = <T>(columns: readonly FittedColumn<T>[], maxWidth: number): readonly FittedColumn<T>[] | undefined => {
  const widths = columns.map(({width}) => width);
  for (let excess = lineWidth(widths) - maxWidth; excess > 0; excess -= 1) {
    let widest = -1;
    for (const [at, {isFlexible}] of columns.entries())
      if (isFlexible && (widths[at] ?? 0) > (widest < 0 ? minimumWidth : (widths[widest] ?? 0))) widest = at;
    if (widest < 0) return undefined;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return columns.map((column, at) => ({...column, width: widths[at] ?? 0}));
};

/** Text padded to `width` cells. */
export const filled = (
  text: string,
  width: number,
  {align, tone}: {align?: 'right' | undefined; tone?: Tone | undefined} = {},
): string => {
  const filling = ' '.repeat(Math.max(0, width - displayWidth(text)));
  const painted = tone ? paint(text, tone) : text;
  return align === 'right' ? filling + painted : painted + filling;
};
