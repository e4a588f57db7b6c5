import {safeLine} from '../shared/safe-text.ts';
import {displayWidth, truncate} from './display-width.ts';
import {paint, type Tone} from './tone.ts';

export type Cell = string | number | boolean | null | undefined;

export interface Column<T> {
  title: string;
  cell: (row: T) => Cell;
  /** Numbers are read from the right. */
  align?: 'right';
  /** May be cut when the terminal is too narrow; every other column stays whole. */
  isFlexible?: boolean;
  tone?: (row: T) => Tone | undefined;
}

export interface TableStyle {
  /** Cells of the terminal; undefined where there is none and nothing is ever cut. */
  maxWidth?: number | undefined;
  isColour?: boolean;
}

const gap = '  ';
const minimumWidth = 8;

/** Rows under a header in capitals, aligned, without borders. Every cell passes through `safeLine`. */
export const renderTable = <T>(rows: readonly T[], columns: readonly Column<T>[], style: TableStyle = {}): string => {
  const titles = columns.map(({title}) => title);
  const cells = rows.map(row => columns.map(({cell}) => cellText(cell(row))));
  const widths = fitted(naturalWidths([titles, ...cells]), columns, style.maxWidth);

  const line = (texts: readonly string[], row?: T): string =>
    columns
      .map((column, at) => {
        const width = widths[at] ?? 0;
        const text = truncate(texts[at] ?? '', width);
        const padding = ' '.repeat(Math.max(0, width - displayWidth(text)));
        const tone = row !== undefined && style.isColour ? column.tone?.(row) : undefined;
        const painted = tone ? paint(text, tone) : text;
        return column.align === 'right' ? padding + painted : painted + padding;
      })
      .join(gap)
      .trimEnd();

  return [line(titles), ...cells.map((texts, at) => line(texts, rows[at]))].map(text => `${text}\n`).join('');
};

export type Detail = readonly [label: string, value: Cell | readonly string[]];

/** One record as `Label:  value` lines; a list takes a line per entry. */
export const renderDetails = (details: readonly Detail[]): string => {
  const width = Math.max(...details.map(([label]) => displayWidth(label))) + 1;
  const lines = details.flatMap(([label, value]) => {
    const texts = isList(value) ? value.map(cellText) : [cellText(value)];
    return (texts.length === 0 ? ['-'] : texts).map((text, at) => (at === 0 ? `${label}:` : '').padEnd(width) + gap + text);
  });
  return lines.map(text => `${text.trimEnd()}\n`).join('');
};

const isList = (value: Detail[1]): value is readonly string[] => Array.isArray(value);

const cellText = (value: Cell): string => {
  if (value === null || value === undefined || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return safeLine(String(value));
};

const naturalWidths = (lines: readonly (readonly string[])[]): number[] => {
  const widths: number[] = [];
  for (const line of lines) for (const [at, text] of line.entries()) widths[at] = Math.max(widths[at] ?? 0, displayWidth(text));
  return widths;
};

/** Takes what is too much from the widest flexible column, one cell at a time, so that they end up even. */
const fitted = <T>(widths: readonly number[], columns: readonly Column<T>[], maxWidth: number | undefined): number[] => {
  const fit = [...widths];
  if (maxWidth === undefined) return fit;

  let excess = fit.reduce((sum, width) => sum + width, gap.length * (fit.length - 1)) - maxWidth;
  for (; excess > 0; excess -= 1) {
    let widest = -1;
    for (const [at, column] of columns.entries())
      if (column.isFlexible && (fit[at] ?? 0) > (widest < 0 ? minimumWidth : (fit[widest] ?? 0))) widest = at;
    if (widest < 0) break;
    fit[widest] = (fit[widest] ?? 0) - 1;
  }
  return fit;
};
