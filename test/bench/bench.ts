// What a measurement is: rows of a table, each a ratio to an anchor of the same run, or a figure in its own unit.
import type {Owner} from '../helpers/daemon.ts';

export type Bound = {atMost: number} | {atLeast: number};

export interface Row {
  /** What it is called on the command line. */
  name: string;
  title: string;
  /** What it is held against; empty for a bound in its own unit. */
  anchor: string;
  wanted: Bound;
  /** `×` for a ratio to the anchor. */
  unit: '×' | 'ms' | '%';
}

export type Measured =
  /** `own` and `anchor` say what was measured, with units: `2.1 ms`. */
  | {value: number; own: string; anchor?: string}
  /** Why it could not be measured: the row counts as missed. */
  | {missing: string};

export interface BenchContext {
  /** Fewer rounds and smaller stores: says how it goes, not how it is. */
  isQuick: boolean;
  /** What a bench starts ends with it. */
  owner: Owner;
  /** Rows that nobody asked for need not be measured. */
  isWanted(row: string): boolean;
  report(row: string, measured: Measured): void;
  /** A line for whoever waits, on stderr. */
  say(line: string): void;
}

/** Rows that are measured on the same nodes. */
export interface Bench {
  name: string;
  rows: readonly Row[];
  /** Seconds that a whole run takes, about. */
  seconds: number;
  /** Measured only when it is named: what is not held against a promise. */
  isExtra?: boolean;
  run(context: BenchContext): Promise<void>;
}

export const isMet = ({wanted}: Row, measured: Measured): boolean => {
  if ('missing' in measured || Number.isNaN(measured.value)) return false;
  return 'atMost' in wanted ? measured.value <= wanted.atMost : measured.value >= wanted.atLeast;
};
