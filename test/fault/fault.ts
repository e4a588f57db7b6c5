// What a fault test is: something that goes wrong, many times over, and a judge who only knows what the world outside was told.
import type {Owner} from '../helpers/daemon.ts';
import type {Random} from './random.ts';

export interface FaultContext {
  /** How often; what a round is, is the fault's own. */
  rounds: number;
  /** Waits are short and stores small: the form that is part of npm test. */
  isShort: boolean;
  /** What a round needs of chance, the same for the same seed. */
  randomOf(round: number): Random;
  /** What is started for all rounds ends after them. */
  owner: Owner;
  /** A line for whoever waits, on stderr. */
  say(line: string): void;
}

export interface FaultReport {
  /** How many were run. */
  rounds: number;
  /** What must not have happened, each with its round: none is a pass. */
  violations: string[];
  /** What was seen, for the table: such as `acknowledged: 20412`. */
  figures: Record<string, number | string>;
}

export interface Fault {
  /** What it is called on the command line. */
  name: string;
  title: string;
  rounds: number;
  /** As part of npm test. */
  shortRounds: number;
  /** What a pass is, in words. */
  pass: string;
  /** Why it cannot be run here, such as for want of root; undefined when it can. */
  missing?(): Promise<string | undefined> | string | undefined;
  run(context: FaultContext): Promise<FaultReport>;
}
