// Description of a kind of record for the printer.
import type {Column} from './column.ts';
import type {Detail} from './table.ts';

export interface Fields<T> {
  /** The members of the record on the wire, in its order: the header of CSV, and the choices of `--json`. */
  fields: readonly string[];
  /** The members of the answer, when the records are only a part of it; `--json` accepts them too. */
  answerFields?: readonly string[];
  /** True for tables that are complete and short as a rule: cli-table3 draws them. */
  isShort?: true;
  /** For `-o name`: the argument that other commands accept. */
  nameOf(record: T): string;
}

/** `L` is the type of a table line, when that is not the record itself. */
export interface Listed<T, L = T> extends Fields<T> {
  columns: readonly Column<L>[];
  linesOf?(records: readonly T[]): readonly L[];
  /** The text for an empty list. */
  none?: string;
}

export interface Shown<T> extends Fields<T> {
  details(record: T): readonly Detail[];
}
