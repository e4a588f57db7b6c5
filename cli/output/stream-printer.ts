// Printer of streams: each record is printed when it arrives, without waiting for the whole table.

import {isColour, type Session} from '../session.ts';
import {cellText} from './cell-text.ts';
import type {Column} from './column.ts';
import {createPieces} from './data-text.ts';
import type {OutputPlan} from './declared-output.ts';
import {displayWidth, truncate} from './display-width.ts';
import type {OutputFormat} from './output-format.ts';
import {type Fields, filled, fittingColumns, gap, lineWidth} from './table.ts';

export interface StreamColumn<T> extends Column<T> {
  /** Expected width in cells. A wider cell widens the column from there on, or is cut when the column is flexible. */
  width: number;
  /** The width of `brief`. */
  briefWidth?: number;
}

/** The options that are known before the first record arrives. */
export interface Streamed<T> extends Fields<T> {
  columns: readonly StreamColumn<T>[];
}

interface StreamPrinter<T> {
  /** Resolves once standard output has taken it, so that a slow reader slows down the writer. */
  print(row: T): Promise<void>;
}

export const createStreamPrinter = <T>(session: Session, streamed: Streamed<T>): StreamPrinter<T> => {
  const {stdout} = session.terminal;
  const textOf = createText(session, streamed);
  return {
    print: row => new Promise(resolve => void stdout.write(textOf(row), () => resolve())),
  };
};

/** Table lines on a terminal and JSON objects in a pipe, unless a format is given. */
const formatOf = ({terminal: {env, stdout}, flags}: Session, plan: OutputPlan): OutputFormat => {
  const {output, json} = flags();
  return output === undefined && json === undefined && !env.MFCTL_OUTPUT && !stdout.isTTY ? 'ndjson' : plan.format;
};

const createText = <T>(session: Session, streamed: Streamed<T>): ((row: T) => string) => {
  const {stdout} = session.terminal;
  const plan = session.outputPlan();
  const format = formatOf(session, plan);
  if (format === 'table' || format === 'wide') {
    const {columns} = streamed;
    const shown = format === 'wide' ? columns.map(column => ({...column, cell: column.wide ?? column.cell})) : columns;
    const lines = createLines(shown, isColour(stdout, session.terminal, session.flags()));
    return row => lines.render(row, stdout.isTTY && format === 'table' ? stdout.columns || 80 : undefined);
  }

  // Every record is a separate line or document, as there is no list around them.
  const textOf = createPieces(format === 'json' ? 'ndjson' : format, plan, streamed);
  const start = format === 'yaml' ? '---\n' : '';
  return row => start + textOf({value: row, records: [row]});
};

/** Lines of a table whose later rows are not known yet: widths are declared, and grow when they must. */
export const createLines = <T>(allColumns: readonly StreamColumn<T>[], hasColour: boolean) => {
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
    const rest = (maxWidth ?? 0) - lineWidth(widths.slice(0, -1)) - gap.length;
    const last = widths.pop() ?? 0;
    // A shorter last cell is easier to read than a line that is wrapped.
    const isCut = maxWidth !== undefined && columns.at(-1)?.isFlexible && rest >= minFlexibleWidth;
    widths.push(isCut ? rest : Math.max(last, rest));
    const cells = columns.map((column, at) => {
      const width = widths[at] ?? 0;
      const text = maxWidth !== undefined && column.isFlexible ? truncate(texts[at] ?? '', width) : (texts[at] ?? '');
      const tone = row !== undefined && hasColour ? column.tone?.(row) : undefined;
      return filled(text, width, {align: column.align, tone});
    });
    return `${cells.join(gap).trimEnd()}\n`;
  };

  return {
    render(row: T, maxWidth: number | undefined): string {
      const columns = fittingColumns(allColumns, {
        maxWidth,
        widthOf: ({width}) => width,
        briefly: column => (column.brief ? {...column, cell: column.brief, width: column.briefWidth ?? column.width} : column),
      });
      const texts = columns.map(({cell}) => cellText(cell(row)));
      if (hasHeader) return lineOf(columns, texts, maxWidth, row);

      hasHeader = true;
      // The row first: it may be wider than the titles.
      const line = lineOf(columns, texts, maxWidth, row);
      const titles = columns.map(({title}) => title);
      return lineOf(columns, titles, maxWidth) + line;
    },
  };
};

const minFlexibleWidth = 6;
