// Tables of any length, fitted to the width of the terminal, and single records as lines.
import {cellText} from './cell-text.ts';
import {type Cell, type Column, paint, type Tone} from './column.ts';
import {displayWidth} from './display-width.ts';
import {cutText, gap, layOut, lineOf, lineWidth} from './layout.ts';

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
  const width = isWide ? undefined : maxWidth;
  const fitted = layOut(
    shown.map(column => measured(rows, column)),
    width,
    column => (column.brief ? measured(rows, {...column, cell: column.brief}) : column),
  );
  const isTooNarrow = width !== undefined && lineWidth(fitted) > width;
  return isTooNarrow ? renderBlocks(rows, shown, style) : renderLines(rows, fitted, style);
};

/** A column of a complete table. */
interface MeasuredColumn<T> extends Column<T> {
  width: number;
  /** One for each row. */
  texts: readonly string[];
}

/** A flexible column is cut below this width only when nothing else can be shortened. */
const comfortableWidth = 14;
const least = 8;

const measured = <T>(rows: readonly T[], column: Column<T>): MeasuredColumn<T> => {
  const texts = rows.map(row => cellText(column.cell(row)));
  const width = texts.reduce((most, text) => Math.max(most, displayWidth(text)), displayWidth(column.title));
  return {...column, texts, width, ...(column.isFlexible && {comfortable: Math.min(width, comfortableWidth), least})};
};

const renderLines = <T>(rows: readonly T[], columns: readonly MeasuredColumn<T>[], {isColour, draw}: TableStyle): string => {
  const table = {
    columns,
    rows: rows.map((row, at) =>
      columns.map(column => ({text: cutText(column.texts[at] ?? '', column), tone: isColour ? column.tone?.(row) : undefined})),
    ),
  };
  return asLines(draw && rows.length <= maxShortRows ? draw(table) : drawTable(table));
};

const drawTable: DrawTable = ({columns, rows}) => [
  lineOf(
    columns,
    columns.map(({title}) => title),
  ),
  ...rows.map(cells =>
    lineOf(
      columns,
      cells.map(({text}) => text),
      (text, at) => paint(text, cells[at]?.tone),
    ),
  ),
];

/** `TITLE: value` for every column. Only flexible columns are cut; an id that is too long for the line moves to the next one. */
const renderBlocks = <T>(rows: readonly T[], columns: readonly Column<T>[], {maxWidth = 80, isColour}: TableStyle): string => {
  const labelWidth = Math.max(...columns.map(({title}) => displayWidth(title))) + 1 + gap.length;
  const available = Math.max(1, maxWidth - labelWidth);
  const lines = (row: T): string[] =>
    columns.flatMap(({title, cell, isFlexible, endsInCount, tone: toneOf}) => {
      const whole = cellText(cell(row));
      const text = isFlexible ? cutText(whole, {width: available, endsInCount}) : whole;
      const value = paint(text, isColour ? toneOf?.(row) : undefined);
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
