// Where data goes: standard output gets it in the format that was asked for, standard error everything said about it.
import {safeBlock, safeLine} from '../shared/safe-text.ts';
import type {Column} from './column.ts';
import {safeJson} from './safe-json.ts';
import {type Detail, renderDetails, renderTable} from './table.ts';
import type {Terminal} from './terminal.ts';

export const outputFormats = ['table', 'json', 'ndjson'] as const;
export type OutputFormat = (typeof outputFormats)[number];

export interface PrinterOptions {
  format: OutputFormat;
  isColour: boolean;
  isQuiet: boolean;
}

export interface ListOptions {
  /** What is said of an empty list. */
  none?: string;
  /** What JSON gets, where it is not the rows. */
  value?: unknown;
}

export interface Printer {
  readonly format: OutputFormat;
  readonly isQuiet: boolean;
  list<T>(rows: readonly T[], columns: readonly Column<T>[], options?: ListOptions): void;
  record<T>(record: T, describe: (record: T) => readonly Detail[]): void;
  /** What there is to say of an action whose answer holds no data. */
  done(text: string): void;
  /** A value that has no table of its own: JSON in every format. */
  value(value: unknown): void;
  /** Text that is a document by itself. Untouched, except that a terminal gets no control characters. */
  text(text: string): void;
  bytes(bytes: Uint8Array): void;
  note(text: string): void;
  warn(text: string): void;
}

export const createPrinter = ({stdout, stderr}: Terminal, {format, isColour, isQuiet}: PrinterOptions): Printer => {
  const json = (value: unknown): void => {
    if (format !== 'ndjson') stdout.write(`${safeJson(value, 2)}\n`);
    else if (Array.isArray(value)) stdout.write(value.map(entry => `${safeJson(entry)}\n`).join(''));
    else stdout.write(`${safeJson(value)}\n`);
  };
  const note = (text: string): void => {
    if (!isQuiet) stderr.write(`${safeLine(text)}\n`);
  };

  return {
    format,
    isQuiet,
    list: (rows, columns, {none = 'nothing', value = rows} = {}) => {
      if (format !== 'table') json(value);
      else if (rows.length === 0) note(none);
      else stdout.write(renderTable(rows, columns, {isColour, maxWidth: stdout.isTTY ? (stdout.columns ?? 80) : undefined}));
    },
    record: (record, describe) => {
      if (format === 'table') stdout.write(renderDetails(describe(record)));
      else json(record);
    },
    done: text => {
      if (format !== 'table') json(null);
      note(text);
    },
    value: json,
    text: text => {
      stdout.write(stdout.isTTY ? safeBlock(text) : text);
    },
    bytes: bytes => {
      stdout.write(bytes);
    },
    note,
    warn: text => {
      stderr.write(`warning: ${safeLine(text)}\n`);
    },
  };
};
