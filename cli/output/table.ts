import {cellText} from './cell-text.ts';
import type {Cell, Column} from './column.ts';
import {displayWidth, truncate} from './display-width.ts';
import {type FittedColumn, filled, fitTable, gap} from './table-fit.ts';
import {paint, type Tone} from './tone.ts';

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
