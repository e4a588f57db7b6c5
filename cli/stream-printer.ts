// What comes one by one goes to standard output one by one: there is no whole table to lay out, and no end to wait for.
import {usageError} from './cli-error.ts';
import type {Column} from './column.ts';
import {displayWidth, truncate} from './display-width.ts';
import {safeJson} from './safe-json.ts';
import {type GlobalFlags, isColour} from './session.ts';
import {cellText} from './table.ts';
import {gap} from './table-fit.ts';
import type {Terminal} from './terminal.ts';
import {paint} from './tone.ts';

/** In `json` and `ndjson` alike every entry is an object on a line of its own. */
export const streamFormats = ['table', 'json', 'ndjson'] as const;
export type StreamFormat = (typeof streamFormats)[number];

export interface StreamColumn<T> extends Column<T> {
  /** Cells it is expected to need. A wider one widens the column from there on, or is cut when it is flexible. */
  width: number;
  /** Of `brief`. */
  briefWidth?: number;
}

export interface StreamPrinter<T> {
  readonly format: StreamFormat;
  /** Resolves once standard output has taken it, so that a slow reader slows down what writes. */
  print(row: T): Promise<void>;
}

/** A person at a terminal gets lines to read, and a program at the end of a pipe objects, unless told otherwise. */
export const streamFormat = (terminal: Terminal, {output}: Pick<GlobalFlags, 'output'>): StreamFormat => {
  const asked = output ?? (terminal.env.MFCTL_OUTPUT || (terminal.stdout.isTTY ? 'table' : 'ndjson'));
  const format = streamFormats.find(name => name === asked);
  if (format === undefined)
    throw usageError(
      `what comes one by one cannot be printed as ${JSON.stringify(asked)}: it must be one of ${streamFormats.join(', ')}`,
      'repeat with -o ndjson',
    );
  return format;
};

export const createStreamPrinter = <T>(
  terminal: Terminal,
  flags: GlobalFlags,
  columns: readonly StreamColumn<T>[],
): StreamPrinter<T> => {
  const {stdout} = terminal;
  const format = streamFormat(terminal, flags);
  const lines = createLines(columns, isColour(stdout, terminal, flags));
  const asText: Record<StreamFormat, (row: T) => string> = {
    table: row => lines.render(row, stdout.isTTY ? (stdout.columns ?? 80) : undefined),
    json: row => `${safeJson(row)}\n`,
    ndjson: row => `${safeJson(row)}\n`,
  };

  return {
    format,
    print: row => new Promise(resolve => void stdout.write(asText[format](row), () => resolve())),
  };
};

/** Lines of a table whose later rows are not known yet: widths are declared, and grow where they must. */
const createLines = <T>(allColumns: readonly StreamColumn<T>[], hasColour: boolean) => {
  const grown = new Map<string, number>();
  let hasHeader = false;

  const widthOf = ({title, width, isFlexible}: StreamColumn<T>, text: string): number => {
    const least = Math.max(width, displayWidth(title), grown.get(title) ?? 0);
    if (isFlexible) return least;
    grown.set(title, Math.max(least, displayWidth(text)));
    return Math.max(least, displayWidth(text));
  };
  const lineOf = (
    columns: readonly StreamColumn<T>[],
    texts: readonly string[],
    maxWidth: number | undefined,
    row?: T,
  ): string => {
    const widths = columns.map((column, at) => widthOf(column, texts[at] ?? ''));
    const rest = (maxWidth ?? 0) - totalWidth(widths.slice(0, -1)) - gap.length;
    widths.push(Math.max(widths.pop() ?? 0, rest));
    const cells = columns.map((column, at) => {
      const width = widths[at] ?? 0;
      const text = maxWidth !== undefined && column.isFlexible ? truncate(texts[at] ?? '', width) : (texts[at] ?? '');
      const padding = ' '.repeat(Math.max(0, width - displayWidth(text)));
      const tone = row !== undefined && hasColour ? column.tone?.(row) : undefined;
      const painted = tone ? paint(text, tone) : text;
      return column.align === 'right' ? padding + painted : painted + padding;
    });
    return `${cells.join(gap).trimEnd()}\n`;
  };

  return {
    render(row: T, maxWidth: number | undefined): string {
      const columns = fitting(allColumns, maxWidth);
      const texts = columns.map(({cell}) => cellText(cell(row)));
      if (hasHeader) return lineOf(columns, texts, maxWidth, row);

      hasHeader = true;
      // The row first: it may need more room than its titles.
      const line = lineOf(columns, texts, maxWidth, row);
      const titles = columns.map(({title}) => title);
      return lineOf(columns, titles, maxWidth) + line;
    },
  };
};

/** First by shorter cells, then without the columns that matter least. */
const fitting = <T>(columns: readonly StreamColumn<T>[], maxWidth: number | undefined): readonly StreamColumn<T>[] => {
  const fits = (shown: readonly StreamColumn<T>[]) =>
    maxWidth === undefined || totalWidth(shown.map(({width}) => width)) <= maxWidth;
  if (fits(columns)) return columns;

  let shown: readonly StreamColumn<T>[] = columns.map(column =>
    column.brief ? {...column, cell: column.brief, width: column.briefWidth ?? column.width} : column,
  );
  const ranks = [...new Set(columns.flatMap(({dropRank}) => dropRank ?? []))].sort((a, b) => a - b);
  for (const rank of ranks) if (!fits(shown)) shown = shown.filter(({dropRank}) => dropRank !== rank);
  return shown;
};

const totalWidth = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1));
