// Tables of any length, fitted to the width of the terminal, and single records as lines.
import {cellText} from './cell-text.ts';
import {type Cell, type Column, paint, type Tone} from './column.ts';
import {displayWidth, truncate} from './display-width.ts';

export interface TableStyle {
  /** Width of the terminal in cells; undefined when the output is no terminal, and nothing is cut. */
  maxWidth?: number | undefined;
  isColour?: boolean;
  /** Shows every column uncut, however narrow the terminal. */
  isWide?: boolean;
  /** Draws a table of few rows. */
  draw?: DrawTable | undefined;
}

/** Safe, and cut to fit. */
interface DrawnTable {
  columns: readonly {title: string; align?: 'right'; width: number}[];
  rows: readonly (readonly DrawnCell[])[];
}

interface DrawnCell {
  text: string;
  tone: Tone | undefined;
}

export type DrawTable = (table: DrawnTable) => readonly string[];

/** Longer tables are drawn line by line, which is faster. */
const maxShortRows = 200;

/**
 * Rows under a header in capitals, aligned, without borders. Every cell passes through `safeLine`. When the terminal is too narrow
 * for that, each row becomes a block of lines.
 */
export const renderTable = <T>(rows: readonly T[], columns: readonly Column<T>[], style: TableStyle = {}): string => {
  const {isWide = false, maxWidth} = style;
  const shown = isWide
    ? columns.map(column => ({...column, cell: column.wide ?? column.cell}))
    : columns.filter(column => !column.isWideOnly);
  const fitted = fitTable(rows, shown, isWide ? undefined : maxWidth);
  return fitted === undefined ? renderBlocks(rows, shown, style) : renderLines(rows, fitted, style);
};

const renderLines = <T>(rows: readonly T[], columns: readonly FittedColumn<T>[], {isColour, draw}: TableStyle): string => {
  const table = {
    columns,
    rows: rows.map((row, at) =>
      columns.map(({texts, width, tone}) => ({text: truncate(texts[at] ?? '', width), tone: isColour ? tone?.(row) : undefined})),
    ),
  };
  return asLines(draw && rows.length <= maxShortRows ? draw(table) : drawTable(table));
};

const drawTable: DrawTable = ({columns, rows}) => {
  const head = columns.map(({title}): DrawnCell => ({text: title, tone: undefined}));
  const line = (cells: readonly DrawnCell[]): string =>
    columns.map(({width, align}, at) => filled(cells[at]?.text ?? '', width, {align, tone: cells[at]?.tone})).join(gap);
  return [head, ...rows].map(line);
};

/** `TITLE: value` for every column. Only flexible columns are cut; an id that is too long for the line moves to the next one. */
const renderBlocks = <T>(rows: readonly T[], columns: readonly Column<T>[], {maxWidth = 80, isColour}: TableStyle): string => {
  const labelWidth = Math.max(...columns.map(({title}) => displayWidth(title))) + 1 + gap.length;
  const available = Math.max(1, maxWidth - labelWidth);
  const lines = (row: T): string[] =>
    columns.flatMap(({title, cell, isFlexible, tone: toneOf}) => {
      const whole = cellText(cell(row));
      const text = isFlexible ? truncate(whole, available) : whole;
      const tone = isColour ? toneOf?.(row) : undefined;
      const value = tone ? paint(text, tone) : text;
      return displayWidth(text) > available ? [`${title}:`, value] : [`${title}:`.padEnd(labelWidth) + value];
    });
  return rows.map(row => asLines(lines(row))).join('\n');
};

const asLines = (texts: readonly string[]): string => texts.map(text => `${text.trimEnd()}\n`).join('');

export type Detail = readonly [label: string, value: Cell | readonly string[]];

/** One record as `Label:  value` lines; a list takes a line per entry. */
export const renderDetails = (details: readonly Detail[]): string => {
  const width = Math.max(...details.map(([label]) => displayWidth(label))) + 1;
  const lines = details.flatMap(([label, value]) => {
    const texts = isList(value) ? value.map(cellText) : [cellText(value)];
    return (texts.length === 0 ? ['-'] : texts).map((text, at) => (at === 0 ? `${label}:` : '').padEnd(width) + gap + text);
  });
  return asLines(lines);
};

const isList = (value: Detail[1]): value is readonly string[] => Array.isArray(value);

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
interface FittedColumn<T> extends Column<T> {
  width: number;
  /** One for each row; some may be wider than the column. */
  texts: readonly string[];
}

/** A flexible column is cut below this width only when nothing else can be shortened. */
const comfortableWidth = 14;
const minimumWidth = 8;

/** Undefined when the terminal is too narrow even for that. */
const fitTable = <T>(
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

export interface Fields<T> {
  /** The members of the record on the wire, in its order: the header of CSV, and the choices of `--json`. */
  fields: readonly string[];
  /** The members of the answer, when the records are only a part of it; `--json` accepts them too. */
  answerFields?: readonly string[];
  /** True for tables that are complete and short as a rule: cli-table3 draws them. */
  isShort?: true;
  /** For `-o name`: the argument that other commands accept. */
  nameOf(record: T): string;
}

/** `L` is the type of a table line, when that is not the record itself. */
export interface Listed<T, L = T> extends Fields<T> {
  columns: readonly Column<L>[];
  linesOf?(records: readonly T[]): readonly L[];
  /** The text for an empty list. */
  none?: string;
}

export interface Shown<T> extends Fields<T> {
  details(record: T): readonly Detail[];
}
