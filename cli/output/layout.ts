// Layout of rows, for tables, streams and the screens of the dashboard: which columns a line has, how wide they are, and its text.
import {displayWidth, truncate} from './display-width.ts';

interface Sized {
  /** In cells; before the layout that of the text, or the declared one. */
  width: number;
  /** The width that decides which columns are left out, where it is another. */
  comfortable?: number | undefined;
  /** It may be cut to this width. */
  least?: number | undefined;
  /** Its share of the remaining width. */
  grow?: number | undefined;
  /** The width of its texts: a column that has more than this gives it to those that have less. */
  need?: number | undefined;
  /** If the line is too long, columns with a rank are left out, the lowest first. */
  dropRank?: number | undefined;
}

export const gap = '  ';

/** The width of a line, with the gaps between its columns. */
export const lineWidth = (columns: readonly {width: number}[]): number =>
  columns.reduce((sum, {width}) => sum + width, gap.length * Math.max(0, columns.length - 1));

/**
 * The columns that fit, with their widths. The line is longer than `maxWidth` when nothing more can be left out or cut. `briefly` gives the same
 * column with shorter cells.
 */
export const layOut = <C extends Sized>(
  all: readonly C[],
  maxWidth: number | undefined,
  briefly = (column: C): C => column,
): readonly C[] => {
  if (maxWidth === undefined) return all;

  const fits = (some: readonly C[]): boolean =>
    lineWidth(some.map(({width, comfortable = width}) => ({width: comfortable}))) <= maxWidth;
  let columns = fits(all) ? all : all.map(briefly);
  const ranks = [...new Set(all.flatMap(({dropRank}) => dropRank ?? []))].sort((a, b) => a - b);
  for (const rank of ranks) if (!fits(columns)) columns = columns.filter(({dropRank}) => dropRank !== rank);

  const spare = maxWidth - lineWidth(columns);
  const widths = spare < 0 ? cutWidths(columns, -spare) : neededWidths(columns, grownWidths(columns, spare));
  return columns.map((column, at) => ({...column, width: widths[at] ?? column.width}));
};

/** Shortens the widest column by one cell at a time, so that the columns end up even. All stay when that is not enough. */
const cutWidths = (columns: readonly Sized[], excess: number): readonly number[] => {
  const widths = columns.map(({width}) => width);
  for (let left = excess; left > 0; left -= 1) {
    let widest = -1;
    for (const [at, {least = Number.POSITIVE_INFINITY}] of columns.entries()) {
      const width = widths[at] ?? 0;
      if (width > least && width > (widths[widest] ?? 0)) widest = at;
    }
    if (widest < 0) return [];
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
};

const grownWidths = (columns: readonly Sized[], spare: number): number[] => {
  const shares = columns.reduce((sum, {grow = 0}) => sum + grow, 0);
  let sofar = 0;
  const upToHere = (): number => (shares === 0 ? 0 : Math.floor((spare * sofar) / shares));
  return columns.map(({width, grow = 0}) => {
    const before = upToHere();
    sofar += grow;
    return width + upToHere() - before;
  });
};

/** The widths while every text fits in them; otherwise each column has what it needs, and only the widest are cut. */
const neededWidths = (columns: readonly Sized[], widths: readonly number[]): readonly number[] => {
  const sized = columns.map((column, at) => ({...column, width: widths[at] ?? column.width}));
  if (sized.every(({need = 0, width}) => need <= width)) return widths;
  const needed = sized.map(({need, width}) => (need === undefined ? {width} : {width: need, least: 1}));
  const excess = lineWidth(needed) - lineWidth(sized);
  if (excess > 0) return cutWidths(needed, excess);
  return grownWidths(
    columns.map(({grow}, at) => ({width: needed[at]?.width ?? 0, grow})),
    -excess,
  );
};

/** Text that fits the width. A count at its end, such as the `+2` of further recipients, stays. */
export const cutText = (text: string, {width, endsInCount}: {width: number; endsInCount?: boolean | undefined}): string => {
  const count = (endsInCount && / \+\d+$/.exec(text)?.[0]) || '';
  if (displayWidth(text) <= width || count.length + 2 > width) return truncate(text, width);
  return truncate(text.slice(0, text.length - count.length), width - count.length) + count;
};

/** Each text is cut or padded to the width of its column, and `styled` without its padding. */
export const lineOf = (
  columns: readonly {width: number; align?: 'right' | undefined; endsInCount?: boolean | undefined}[],
  texts: readonly string[],
  styled = (text: string, _at: number): string => text,
): string =>
  columns
    .map((column, at) => {
      const {width, align} = column;
      const text = cutText(texts[at] ?? '', column);
      const filling = ' '.repeat(Math.max(0, width - displayWidth(text)));
      return align === 'right' ? filling + styled(text, at) : styled(text, at) + filling;
    })
    .join(gap);
