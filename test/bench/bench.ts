// Definition of a measurement: rows of a table, each a ratio to an anchor of the same run, or a figure in its own unit.
import type {Owner} from '../helpers/daemon.ts';

export type Bound = {atMost: number} | {atLeast: number};

export interface Row {
  /** The name on the command line. */
  name: string;
  title: string;
  /** The reference for the comparison; empty for a bound in its own unit. */
  anchor: string;
  /** Undefined for a figure that is printed as it is. */
  wanted?: Bound;
  /** `×` for a ratio to the anchor. */
  unit: '×' | 'ms' | '%' | 'MiB' | 'B' | '/s';
}

export type Measured =
  /** `own` and `anchor` are the measured values with units: `2.1 ms`. */
  | {value: number; own: string; anchor?: string}
  /** The reason why it could not be measured: the row counts as missed. */
  | {missing: string};

export interface BenchContext {
  /** Fewer rounds and smaller stores: shows a rough trend, not a reliable value. */
  isQuick: boolean;
  /** Resources that a bench starts are closed with it. */
  owner: Owner;
  /** Rows that were not requested need not be measured. */
  isWanted(row: string): boolean;
  report(row: string, measured: Measured): void;
  /** Prints a progress line on stderr. */
  say(line: string): void;
}

/** A group of rows that are measured on the same nodes. */
export interface Bench {
  name: string;
  rows: readonly Row[];
  /** Measured only when it is named. */
  isLong?: true;
  /** Approximate duration of a whole run in seconds. */
  seconds: number;
  /** The reason why none of its rows can be measured here; undefined when they can. */
  missing?(): string | undefined;
  run(context: BenchContext): Promise<void>;
}

export const isMet = ({wanted}: Row, measured: Measured): boolean => {
  if ('missing' in measured || Number.isNaN(measured.value)) return false;
  if (!wanted) return true;
  return 'atMost' in wanted ? measured.value <= wanted.atMost : measured.value >= wanted.atLeast;
};
