// Definition of a fault test: a failure that is caused many times, and a judge who knows only the answers that clients got.
import type {Owner} from '../helpers/daemon.ts';
import type {Random} from './random.ts';

export interface FaultContext {
  /** Number of rounds; each fault defines its own round. */
  rounds: number;
  /** Waits are short and stores small: the form that is part of npm test. */
  isShort: boolean;
  /** The random numbers of a round, the same for the same seed. */
  randomOf(round: number): Random;
  /** Resources that are started for all rounds are closed after them. */
  owner: Owner;
  /** Prints a progress line on stderr. */
  say(line: string): void;
}

export interface FaultReport {
  /** Number of rounds that were run. */
  rounds: number;
  /** Violations, each with its round: none is a pass. */
  violations: string[];
  /** Figures for the table, such as `acknowledged: 20412`. */
  figures: Record<string, number | string>;
}

export interface Fault {
  /** The name on the command line. */
  name: string;
  title: string;
  rounds: number;
  /** Rounds as part of npm test. */
  shortRounds: number;
  /** A pass, in words. */
  pass: string;
  /** The reason why it cannot run here, such as missing root rights; undefined when it can. */
  missing?(): Promise<string | undefined> | string | undefined;
  run(context: FaultContext): Promise<FaultReport>;
}
