// Printer of answers: data to standard output in the chosen format, notes about it to standard error.
import {hasOwn} from '../../shared/has-own.ts';
import {safeBlock, safeLine} from '../../shared/safe-text.ts';
import type {Terminal} from '../command-line/terminal.ts';
import {CliError, usageError} from '../errors.ts';
import type {Column} from './column.ts';
import {type Data, dataText, picked, type ToYaml} from './data-text.ts';
import type {FieldChoice, OutputFormat} from './output-format.ts';
import {type DrawTable, type Listed, renderDetails, renderTable, type Shown} from './table.ts';

interface PrinterOptions {
  format: OutputFormat;
  isColour: boolean;
  isQuiet: boolean;
  /** The fields of `--json`; undefined for all. */
  choice?: FieldChoice | undefined;
  /** The YAML writer, loaded before when the format is YAML. */
  toYaml?: ToYaml | undefined;
  /** The drawer of short tables, loaded before when the command prints one. */
  draw?: DrawTable | undefined;
}

interface ListOptions {
  /** The value for JSON and YAML when that is not the rows. If it is a list, its entries are the records of all other formats. */
  value?: unknown;
}

export interface Printer {
  readonly format: OutputFormat;
  readonly isQuiet: boolean;
  /** True for tables and `Label: value`; all other formats are for programs. */
  readonly isForPeople: boolean;
  /** Width of the terminal in cells; undefined when the output is no terminal. */
  readonly maxWidth: number | undefined;
  /** Whether the output has this member of a record. */
  shows(field: string): boolean;
  list<T, L = T>(rows: readonly T[], listed: Listed<T, L>, options?: ListOptions): void;
  /** A kind of record without details is printed as a table of one row. */
  record<T>(record: T, shown: Shown<T> | Listed<T>): void;
  /** The result of an action whose answer has no data. */
  done(text: string): void;
  /** A value of an unknown kind: people get JSON. */
  value(value: unknown): void;
  /** A complete document. It is printed unchanged, except that a terminal gets no control characters. */
  text(text: string): void;
  bytes(bytes: Uint8Array): void;
  note(text: string): void;
  warn(text: string): void;
}

export const createPrinter = ({stdout, stderr}: Terminal, options: PrinterOptions): Printer => {
  const {format, isColour, isQuiet, choice, toYaml = yamlIsMissing, draw} = options;
  const dataFormat = format === 'table' || format === 'wide' ? undefined : format;
  const data = <T>(answer: Data<T>): void => {
    stdout.write(dataText(choice === undefined ? answer : picked(answer, choice), dataFormat ?? 'json', toYaml));
  };
  // A terminal that does not know its width reports 0.
  const maxWidth = stdout.isTTY ? stdout.columns || 80 : undefined;
  const table = <L>(lines: readonly L[], columns: readonly Column<L>[]): void => {
    stdout.write(renderTable(lines, columns, {isColour, maxWidth, isWide: format === 'wide', draw}));
  };
  const note = (text: string): void => {
    if (!isQuiet) stderr.write(`${safeLine(text)}\n`);
  };

  return {
    format,
    isQuiet,
    isForPeople: dataFormat === undefined,
    maxWidth,
    shows: field => format !== 'name' && (choice === undefined || choice.names.includes(field)),
    list: <T, L>(rows: readonly T[], listed: Listed<T, L>, {value = rows}: ListOptions = {}) => {
      if (dataFormat !== undefined) return data({...listed, value, records: Array.isArray(value) ? (value as T[]) : rows});

      // Without `linesOf` the line is the record: T is L.
      const lines = listed.linesOf?.(rows) ?? (rows as readonly unknown[] as readonly L[]);
      if (lines.length === 0) note(listed.none ?? 'nothing');
      else table(lines, listed.columns);
    },
    record: (record, shown) => {
      if (dataFormat !== undefined) data({...shown, value: record, records: [record]});
      else if (hasOwn(shown, 'details')) stdout.write(renderDetails(shown.details(record)));
      else table([record], shown.columns);
    },
    done: text => {
      if (format === 'json' || format === 'ndjson' || format === 'yaml') stdout.write('null\n');
      note(text);
    },
    value: value => {
      const records = Array.isArray(value) ? value : [value];
      data({value, records: format === 'csv' ? records.map(asRecord) : records, nameOf: noName});
    },
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

/** CSV columns have names, so a value that is no object gets one. */
const asRecord = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {value};

const noName = (): never => {
  throw usageError('-o name is for records that a command can be given', 'use another format');
};

const yamlIsMissing = (): never => {
  throw new Error('YAML was not loaded');
};

/** Call it right after writing. Rejects with a CliError when standard output is closed or its disk is full. */
export const flushed = ({stdout}: Pick<Terminal, 'stdout'>, what: string): Promise<void> =>
  new Promise((resolve, reject) => {
    stdout.write('', (error?: NodeJS.ErrnoException | null) => {
      if (error) reject(new CliError('output_failed', `standard output has not taken ${what} (${error.code ?? error.message})`));
      else resolve();
    });
  });
