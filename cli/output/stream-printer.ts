// Printer of streams: each record is printed when it arrives, without waiting for the whole table.

import {isColour, type Session} from '../session.ts';
import {cellText} from './cell-text.ts';
import {type Column, paint} from './column.ts';
import {createPieces} from './data-text.ts';
import type {OutputPlan} from './declared-output.ts';
import {displayWidth} from './display-width.ts';
import {layOut, lineOf} from './layout.ts';
import type {OutputFormat} from './output-format.ts';
import type {Fields} from './table.ts';

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
export const createLines = <T>(columns: readonly StreamColumn<T>[], hasColour: boolean) => {
  const grown = new Map<string, number>();
  let hasHeader = false;

  /** The titles, or a row. A flexible last column takes the rest of the line: a shorter last cell is easier to read than a line that is wrapped. */
  const line = (maxWidth: number | undefined, row?: T): string => {
    const sized = (column: StreamColumn<T>) => {
      const {title, width: declared, isFlexible} = column;
      const text = row === undefined ? title : cellText(column.cell(row));
      const isUncut = !isFlexible || maxWidth === undefined;
      const width = Math.max(declared, displayWidth(title), grown.get(title) ?? 0, isUncut ? displayWidth(text) : 0);
      const takesRest = isFlexible && title === columns.at(-1)?.title;
      return {
        ...column,
        text,
        declared,
        comfortable: Math.max(declared, displayWidth(title)),
        width,
        ...(takesRest && {grow: 1, least}),
      };
    };
    const laid = layOut(columns.map(sized), maxWidth, column =>
      column.brief ? sized({...column, cell: column.brief, width: column.briefWidth ?? column.declared}) : column,
    );
    for (const {title, width, isFlexible} of laid) if (!isFlexible) grown.set(title, width);
    const tone = (at: number) => (row !== undefined && hasColour ? laid[at]?.tone?.(row) : undefined);
    const texts = laid.map(({text}) => text);
    return `${lineOf(laid, texts, (text, at) => paint(text, tone(at))).trimEnd()}\n`;
  };

  return {
    render(row: T, maxWidth: number | undefined): string {
      // The row first: it may be wider than the titles.
      const text = line(maxWidth, row);
      if (hasHeader) return text;
      hasHeader = true;
      return line(maxWidth) + text;
    },
  };
};

const least = 6;
