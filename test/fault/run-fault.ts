import {startOwner} from '../helpers/owner.ts';
import type {Fault, FaultReport} from './fault.ts';
import {createRandom} from './random.ts';

export interface RunOptions {
  seed: string;
  rounds: number;
  isShort: boolean;
  say(line: string): void;
}

/** An error thrown by a fault is a violation like any other. */
export const runFault = async (fault: Fault, {seed, rounds, isShort, say}: RunOptions): Promise<FaultReport> => {
  const owner = startOwner();
  try {
    return await fault.run({rounds, isShort, owner, say, randomOf: round => createRandom(seed, fault.name, round)});
  } catch (error) {
    return {rounds: 0, violations: [error instanceof Error ? (error.stack ?? error.message) : String(error)], figures: {}};
  } finally {
    await owner.end();
  }
};
