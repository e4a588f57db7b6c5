// What there is to know about a kind of record, so that a command can hand it to the printer in one sentence.
import type {Column} from './column.ts';
import type {Detail} from './table.ts';

export interface Fields<T> {
  /** The members of the record on the wire, in its order: the header of CSV, and what `--json` may name. */
  fields: readonly string[];
  /** Where the records are a part of the answer: its own members, which `--json` may name in their place. */
  answerFields?: readonly string[];
  /** A table of them is whole and short as a rule: cli-table3 draws it. */
  isShort?: true;
  /** For `-o name`: what other commands take as their argument. */
  nameOf(record: T): string;
}

/** `L` is a line of the table, where that is not the record itself. */
export interface Listed<T, L = T> extends Fields<T> {
  columns: readonly Column<L>[];
  linesOf?(records: readonly T[]): readonly L[];
  /** What is said of an empty list. */
  none?: string;
}

export interface Shown<T> extends Fields<T> {
  details(record: T): readonly Detail[];
}
