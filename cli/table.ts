import Layout from 'cli-table3';
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

  const layout = new Layout({
    chars: noBorders,
    style: {'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true},
    colAligns: columns.map(({align}) => align ?? 'left'),
  });
  const masks = createMasks();
  const line = (texts: readonly string[], row?: T): string[] =>
    columns.map((column, at) => {
      const text = masks.put(truncate(texts[at] ?? '', widths[at] ?? 0));
      const tone = row !== undefined && style.isColour ? column.tone?.(row) : undefined;
      return tone ? paint(text, tone) : text;
    });
  layout.push(line(titles), ...cells.map((texts, at) => line(texts, rows[at])));
  return masks
    .take(layout.toString())
    .split('\n')
    .map(text => `${text.trimEnd()}\n`)
    .join('');
};

const noBorders = {
  ...{
    top: '',
    'top-mid': '',
    'top-left': '',
    'top-right': '',
    bottom: '',
    'bottom-mid': '',
    'bottom-left': '',
    'bottom-right': '',
  },
  ...{left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: gap},
};

/**
 * The layout counts cells by an old Unicode table: Thai vowels take one, new emoji too few. So it is given a stand-in of the
 * right width for every character that is not ASCII, and the characters take their places again, in order, when it is done.
 */
const createMasks = () => {
  const standIns = ['\u0300', '\u00b7', '\u4e00'];
  const waiting: string[] = [];
  return {
    put: (text: string): string =>
      text.replace(/[^\x00-\x7f]/gu, char => {
        waiting.push(char);
        return standIns[displayWidth(char)] ?? '\u00b7';
      }),
    take: (text: string): string => text.replace(/[\u0300\u00b7\u4e00]/gu, () => waiting.shift() ?? ''),
  };
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
