// What a follower of Postfix's log is, be it a file or the journal.
import type {PostfixLine} from '../../services/events/postfix-line.ts';

export interface LogFollower {
  /** Passes on what was written since; call it about twice a second. Rejects with `LogUnreadable` while the log cannot be read. */
  follow(): Promise<void>;
  /** Ends its program at once, and `follow` soon, where it is running: there may be gigabytes to read. */
  stop(): void;
  /** Stops, and keeps the place, so that the next start does not read again what was read. Call it when `follow` has ended. */
  close(): Promise<void>;
}

export interface LogFollowerNeeds {
  /** The place up to which lines were taken; undefined at the very first start. */
  readPlace(): Promise<string | undefined>;
  /** Resolves once the lines, and the place after them, are on stable storage. Where it rejects, the same lines come again. */
  take(lines: readonly PostfixLine[], place: string): Promise<void>;
  now: () => number;
}

/** The message is for other nodes and people: it names the key of the setting, and no path. */
export class LogUnreadable extends Error {
  override name = 'LogUnreadable';
}

/**
 * How old a line has to be. Postfix may have delivered a mail, and said so, before mfd has written down that it handed this mail over.
 */
export const settleMs = 2000;
/** Lines of one transaction: other writers wait for it. */
export const atOnce = 200;
/** How often the place is kept when the log is about mail that mfd does not know. */
export const placeMs = 60_000;
