import type {Command} from 'commander';
import {usageError} from '../errors.ts';
import type {Column} from './column.ts';
import type {Listed} from './table.ts';

export interface SortFlag {
  sort?: string | undefined;
}

export type Sorter<T> = (rows: readonly T[]) => readonly T[];

export const addSortOption = (command: Command): Command =>
  command.option('--sort <field>', 'sort by this field or column; --sort=-FIELD sorts in descending order');

/**
 * `sort` is a field of the records or the title of a column, with a leading `-` for descending order, as in ps(1). Without it the order stays.
 * Throws a usage error for an unknown field. Rows without a value come last in both directions.
 */
export const createSorter = <T>({fields, columns}: Pick<Listed<T>, 'fields' | 'columns'>, {sort}: SortFlag): Sorter<T> => {
  if (sort === undefined) return rows => rows;
  const isDescending = sort.startsWith('-');
  const sortValue = valueFor({fields, columns}, isDescending ? sort.slice(1) : sort);
  const compare = createCompare();
  return rows =>
    rows
      .map(row => ({row, value: sortValue(row)}))
      .sort((a, b) => {
        if (isMissing(a.value) || isMissing(b.value)) return Number(isMissing(a.value)) - Number(isMissing(b.value));
        return isDescending ? compare(b.value, a.value) : compare(a.value, b.value);
      })
      .map(({row}) => row);
};

const valueFor = <T>({fields, columns}: Pick<Listed<T>, 'fields' | 'columns'>, name: string): ((row: T) => unknown) => {
  if (fields.includes(name)) return row => (row as Record<string, unknown>)[name];
  const column = columns.find(({title}) => wordOf(title) === wordOf(name));
  if (column) return column.sortBy ?? column.cell;
  const others = columns.map(({title}) => wordOf(title)).filter(word => !fields.includes(word));
  throw usageError(
    `there is no field ${JSON.stringify(name)} to sort by; there are ${fields.join(', ')}${others.length === 0 ? '' : `; and the columns ${others.join(', ')}`}`,
  );
};

/** `LAST USED` is typed as last-used or last_used. */
const wordOf = (title: Column<never>['title']): string => title.toLowerCase().replaceAll(/[ -]/g, '_');

const isMissing = (value: unknown): boolean => value === null || value === undefined || value === '';

/** The same on every machine; mx2 comes before mx10. */
const createCompare = (): ((a: unknown, b: unknown) => number) => {
  const collator = new Intl.Collator('en', {numeric: true});
  return (a, b) => (typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(textOf(a), textOf(b)));
};

const textOf = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value));
