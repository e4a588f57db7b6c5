// Where data goes: standard output gets it in the format that was asked for, standard error everything said about it.
import {safeBlock, safeLine} from '../../shared/safe-text.ts';
import type {Terminal} from '../command-line/terminal.ts';
import {usageError} from '../errors.ts';
import type {Column} from './column.ts';
import {type Data, dataText, picked, type ToYaml} from './data-text.ts';
import type {FieldChoice, OutputFormat} from './output-format.ts';
import type {Listed, Shown} from './resource.ts';
import {type Detail, type DrawTable, renderDetails, renderTable} from './table.ts';

export {type OutputFormat, outputFormats} from './output-format.ts';

export interface PrinterOptions {
  format: OutputFormat;
  isColour: boolean;
  isQuiet: boolean;
  /** What `--json` picked; undefined is everything. */
  choice?: FieldChoice | undefined;
  /** Has to be loaded by whoever asks for YAML. */
  toYaml?: ToYaml | undefined;
  /** Has to be loaded for tables that are short. */
  draw?: DrawTable | undefined;
}

export interface ListOptions {
  /** What is said of an empty list. */
  none?: string;
  /** What JSON and YAML get, where it is not the rows. Where it is a list, its entries are the records of every other format. */
  value?: unknown;
}

export interface Printer {
  readonly format: OutputFormat;
  readonly isQuiet: boolean;
  /** A table, or `Label: value`; every other format is for programs. */
  readonly isForPeople: boolean;
  /** Cells of the terminal; undefined where there is none. */
  readonly maxWidth: number | undefined;
  /** Whether the output has this member of a record. */
  shows(field: string): boolean;
  list<T>(rows: readonly T[], columns: readonly Column<T>[], options?: ListOptions): void;
  list<T, L = T>(rows: readonly T[], shape: Listed<T, L>, options?: ListOptions): void;
  /** A kind of record that has no details is shown as a table of one row. */
  record<T>(record: T, shape: Shown<T> | Listed<T> | Describe<T>): void;
  /** What there is to say of an action whose answer holds no data. */
  done(text: string): void;
  /** A value that nothing is known of: for people it is JSON. */
  value(value: unknown): void;
  /** Text that is a document by itself. Untouched, except that a terminal gets no control characters. */
  text(text: string): void;
  bytes(bytes: Uint8Array): void;
  note(text: string): void;
  warn(text: string): void;
}

type Describe<T> = (record: T) => readonly Detail[];

export const createPrinter = ({stdout, stderr}: Terminal, options: PrinterOptions): Printer => {
  const {format, isColour, isQuiet, choice, toYaml = yamlIsMissing, draw} = options;
  const dataFormat = format === 'table' || format === 'wide' ? undefined : format;
  const data = <T>(answer: Data<T>): void => {
    stdout.write(dataText(choice === undefined ? answer : picked(answer, choice), dataFormat ?? 'json', toYaml));
  };
  // A terminal that does not know its width says 0.
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
    list: <T, L>(rows: readonly T[], shape: Listed<T, L> | readonly Column<L>[], {none, value = rows}: ListOptions = {}) => {
      const listed: Partial<Listed<T, L>> & Pick<Listed<T, L>, 'columns' | 'nameOf'> = isColumns(shape)
        ? {columns: shape, nameOf: noName}
        : shape;
      if (dataFormat !== undefined) return data({...listed, value, records: Array.isArray(value) ? (value as T[]) : rows});

      // Without `linesOf` a record is its line: T is L.
      const lines = listed.linesOf?.(rows) ?? (rows as readonly unknown[] as readonly L[]);
      if (lines.length === 0) note(none ?? listed.none ?? 'nothing');
      else table(lines, listed.columns);
    },
    record: (record, shape) => {
      const shown = typeof shape === 'function' ? {details: shape, nameOf: noName} : shape;
      if (dataFormat !== undefined) data({...shown, value: record, records: [record]});
      else if ('details' in shown) stdout.write(renderDetails(shown.details(record)));
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

const isColumns = <T, L>(shape: Listed<T, L> | readonly Column<L>[]): shape is readonly Column<L>[] => Array.isArray(shape);

/** CSV has named columns, so a value that is no object gets a name. */
const asRecord = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {value};

const noName = (): never => {
  throw usageError('-o name is for records that a command can be given', 'use another format');
};

const yamlIsMissing = (): never => {
  throw new Error('YAML was not loaded');
};
