// Printer of a list of many pages, which prints while the pages arrive: at most two of them are in memory.

import type {Answer} from '../client/client.ts';
import {withOffset} from '../command-line/typed-words.ts';
import {CliError} from '../errors.ts';
import {isColour, type Session} from '../session.ts';
import {cellText, countText} from './cell-text.ts';
import {createPieces} from './data-text.ts';
import {displayWidth} from './display-width.ts';
import type {Sorter, SortFlag} from './sort-rows.ts';
import {createLines, type StreamColumn} from './stream-printer.ts';
import type {Listed} from './table.ts';

export interface ListPage<T> {
  rows: readonly T[];
  /** The list lacks the mail of these nodes. */
  unreachableNodes: readonly string[];
}

interface PageNeeds<T> {
  ask(page: {limit: number; offset: number}): Promise<{data: T[]; unreachableNodes: readonly string[]}>;
  nameOf(row: T): string;
  /** How far the list reaches; as far as there is something by default. */
  maxRows?: number;
}

const pageSize = 1000;

/** Pages of a list that is newest first. New rows shift the others back, so those of the page before may come again. */
export async function* pagesOfNewest<T>({
  ask,
  nameOf,
  maxRows = Number.POSITIVE_INFINITY,
}: PageNeeds<T>): AsyncIterable<ListPage<T>> {
  let before = new Set<string>();
  for (let offset = 0; offset < maxRows; offset += pageSize) {
    const {data, unreachableNodes} = await ask({limit: pageSize, offset});
    const seen = before;
    yield {rows: data.filter(row => !seen.has(nameOf(row))), unreachableNodes};
    if (data.length < pageSize) return;
    before = new Set(data.map(nameOf));
  }
}

interface AllNeeds<T> {
  pages: AsyncIterable<ListPage<T>>;
  /** Collects the whole list before anything is printed. */
  sorter: Sorter<T> | undefined;
  /** Called before an empty list is printed. Returns what to say in place of `none`; may reject. */
  whenEmpty?: (answer: Printed) => Promise<string>;
}

interface Printed {
  count: number;
  unreachableNodes: string[];
}

/** Ends early when standard output is closed. */
export const printAll = async <T>(
  session: Session,
  listed: Listed<T>,
  {pages, sorter, whenEmpty}: AllNeeds<T>,
): Promise<Printed> => {
  const unreachable = new Set<string>();
  const stream = createListStream(session, listed);
  const toSort: T[] = [];
  let count = 0;
  let last: readonly T[] = [];
  const printed = (): Printed => ({count, unreachableNodes: [...unreachable]});
  for await (const {rows, unreachableNodes} of pages) {
    for (const node of unreachableNodes) unreachable.add(node);
    count += rows.length;
    if (sorter) {
      if (count > maxSorted) throw tooLong();
      for (const row of rows) toSort.push(row);
    } else {
      if (last.length > 0 && !(await stream.print(last))) return printed();
      last = rows;
    }
  }
  // A single page is printed like any other list.
  const shown = await withNone(listed, printed(), whenEmpty);
  if (sorter) session.printer().list(sorter(toSort), shown);
  else if (stream.hasBegun()) await stream.end(last);
  else session.printer().list(last, shown);
  return printed();
};

const withNone = async <T>(listed: Listed<T>, answer: Printed, whenEmpty: AllNeeds<T>['whenEmpty']): Promise<Listed<T>> =>
  whenEmpty && answer.count === 0 ? {...listed, none: await whenEmpty(answer)} : listed;

const maxSorted = 1_000_000;

const tooLong = (): CliError =>
  new CliError('too_long', 'the list has more than a million entries, which are too many to sort', {
    hint: 'narrow it by filters, such as --since, or leave out --sort',
  });

/** Writes the text of one list in pieces. */
const createListStream = <T>(session: Session, listed: Listed<T>) => {
  const {stdout} = session.terminal;
  let textOf: ((rows: readonly T[]) => string) | undefined;
  const write = async (text: string): Promise<boolean> =>
    new Promise(resolve => void stdout.write(text, (error?: Error | null) => resolve(!error)));
  const isJson = (): boolean => session.outputPlan().format === 'json';

  return {
    hasBegun: () => textOf !== undefined,
    /** Resolves once standard output has taken it; false when standard output is closed. */
    print: async (rows: readonly T[]): Promise<boolean> => {
      const isFirst = textOf === undefined;
      textOf ??= createText(session, listed, rows);
      const separator = isFirst ? '[\n' : ',\n';
      return write(isJson() ? separator + textOf(rows) : textOf(rows));
    },
    async end(rows: readonly T[]): Promise<void> {
      if (rows.length > 0) await this.print(rows);
      if (isJson()) await write('\n]\n');
    },
  };
};

const createText = <T>(session: Session, listed: Listed<T>, first: readonly T[]): ((rows: readonly T[]) => string) => {
  const plan = session.outputPlan();
  const {format} = plan;
  if (format === 'table' || format === 'wide') return createTable(session, listed, first);
  const textOf = createPieces(format, plan, listed);
  return rows => {
    const text = textOf({value: rows, records: rows});
    return format === 'json' ? text.slice('[\n'.length, -'\n]\n'.length) : text;
  };
};

/** Flexible columns on a terminal. The last one gets the rest of the line. */
const flexibleWidth = 20;

/** The first page decides how wide the columns are. */
const createTable = <T>(session: Session, {columns}: Listed<T>, first: readonly T[]): ((rows: readonly T[]) => string) => {
  const {stdout} = session.terminal;
  const isWide = session.outputPlan().format === 'wide';
  const isCut = stdout.isTTY && !isWide;
  const widthOf = ({cell, isFlexible}: StreamColumn<T>): number => {
    const natural = first.reduce((most, row) => Math.max(most, displayWidth(cellText(cell(row)))), 0);
    return isFlexible && isCut ? Math.min(natural, flexibleWidth) : natural;
  };
  const shown = columns
    .filter(column => isWide || !column.isWideOnly)
    .map((column): StreamColumn<T> => ({...column, width: 0, ...(isWide && {cell: column.wide ?? column.cell})}))
    .map(column => ({...column, width: widthOf(column)}));
  const lines = createLines(shown, isColour(stdout, session.terminal, session.flags()));
  return rows => rows.map(row => lines.render(row, isCut ? stdout.columns || 80 : undefined)).join('');
};

/** Prints the total and the command for the next page; prints nothing when everything was shown. */
export const notePage = (
  session: Session,
  {data, totalCount}: Answer<unknown[]>,
  {offset = 0, sort, noun}: SortFlag & {offset?: number | undefined; noun: string},
): void => {
  if (totalCount === undefined || data.length >= totalCount) return;
  const end = offset + data.length;
  const next = data.length > 0 && end < totalCount ? `; next: ${withOffset(session.argv, end)}` : '';
  session.printer().note(`${countText(data.length)} of ${countText(totalCount)} ${noun}${next}`);
  // Otherwise it could be mistaken for the first page of the sorted list.
  if (sort !== undefined) session.printer().note('only this page is sorted; --all sorts the whole list');
};

export const warnOfPartialList = (session: Session, {unreachableNodes}: Pick<Answer<unknown>, 'unreachableNodes'>): void => {
  if (unreachableNodes.length > 0)
    session.printer().warn(`the list is incomplete: ${unreachableNodes.join(', ')} did not answer`);
};

/** For a change that waits for all nodes. */
export const warnOfSilentNodes = (session: Session, {unreachableNodes}: Pick<Answer<unknown>, 'unreachableNodes'>): void => {
  if (unreachableNodes.length > 0)
    session.printer().warn(`did not answer and will follow when reachable: ${unreachableNodes.join(', ')}`);
};
