// Facts of a noun, each declared once: its column in tables and on the screens of the dashboard, and its line in details.
import type {Cell, Column, Tone} from './column.ts';

/** `Facts` are what the cells of a screen depend on besides the row, such as the time. */
export interface Field<T, Facts = unknown> {
  /** In details; in capitals the title of the columns. */
  label: string;
  cell(row: T): Cell;
  /** In details, where it is a list: each entry on a line of its own. */
  entries?(row: T): readonly string[];
  /** On a page of the dashboard, where it is not the cell. */
  page?(row: T, facts: Facts): Cell;
  /** The column of tables, where it has one. */
  column?: Partial<Omit<Column<T>, 'cell'>>;
  /** The column of the dashboard, of this width at least, where it has one. */
  screen?: {
    width: number;
    grow?: number;
    align?: 'right';
    dropRank?: number;
    title?: string;
    cell?(row: T, facts: Facts): Cell;
    style?(row: T, facts: Facts): Tone | 'bold' | 'accent' | undefined;
  };
}

export const columnsOf = <T>(fields: readonly Field<T, never>[]): Column<T>[] =>
  fields.flatMap(({label, cell, column}) => (column ? [{title: label.toUpperCase(), cell, ...column}] : []));

/** A line for each field with a column, at full length. */
export const detailsOf = <T>(
  fields: readonly Field<T, never>[],
  row: T,
): (readonly [label: string, value: Cell | readonly string[]])[] =>
  fields.flatMap(({label, cell, entries, column}) => (column ? [[label, (entries ?? column.wide ?? cell)(row)] as const] : []));
