// Entries of the event log that belong to no change of held mail: they wait for others, and are written together.
import {setImmediate as afterOthers} from 'node:timers/promises';
import type {Store} from '../ports.ts';
import {inPieces, weightOf, weightOfPiece} from './event-weight.ts';
import type {NewMailEvent} from './mail-event.ts';

export interface EventRecorder {
  /** Never throws, and never waits. */
  record(event: NewMailEvent): void;
  /**
   * Writes what waits when it is called. Call it at least twice a second, and at the end. Rejects when the store does; what waits
   * stays then.
   */
  flush(): Promise<void>;
  /** How many entries wait. */
  waiting(): number;
}

interface Needs {
  store: Pick<Store, 'transaction'>;
  /** Called with the number of entries that are not kept: the store takes none for a while, or takes others and not these. */
  onLeftOut(count: number, error?: unknown): void;
  /** What entries may weigh together that wait. */
  maxWaiting?: number;
}

/** About 10,000 plain entries. */
const usualMaxWaiting = 50 * weightOfPiece;

/** In a row, before an entry may be the reason. */
const fewFailures = 3;
/** After as many each piece is one entry. */
const mostFailures = 13;

export const createEventRecorder = ({store, onLeftOut, maxWaiting = usualMaxWaiting}: Needs): EventRecorder => {
  let waiting: NewMailEvent[] = [];
  /** How many of these are to be written now. Under load others come all the time: they wait for the next call, and share its transaction. */
  let due = 0;
  let weight = 0;
  let failures = 0;
  let writing: Promise<void> | undefined;

  const leave = (gone: readonly NewMailEvent[]): void => {
    const left = new Set(gone);
    waiting = waiting.filter(event => !left.has(event));
    due -= gone.length;
    for (const event of gone) weight -= weightOf(event);
  };

  /** In a transaction of its own: other writers wait for it. */
  const writePiece = async (some: readonly NewMailEvent[]): Promise<void> => {
    await store.transaction(async tx => tx.events.append(some));
    leave(some);
  };

  const isWritten = async (event: NewMailEvent | undefined): Promise<boolean> =>
    event !== undefined &&
    writePiece([event]).then(
      () => true,
      () => false,
    );

  const write = async (): Promise<void> => {
    while (due > 0) {
      // The store may be too slow for so many, or refuse one of them.
      const [some = []] = inPieces(waiting, weightOfPiece / 2 ** failures);
      try {
        await writePiece(some);
        failures = Math.max(0, failures - 1);
      } catch (error) {
        failures = Math.min(mostFailures, failures + 1);
        const isAlone = some.length === 1 && failures > fewFailures;
        if (!(isAlone && (await isWritten(waiting[1])))) throw error;
        leave(some);
        onLeftOut(1, error);
      }
      await afterOthers();
    }
  };

  return {
    waiting: () => waiting.length,
    record(event) {
      const own = weightOf(event);
      if (weight + own > maxWaiting) {
        onLeftOut(1);
        return;
      }
      waiting.push(event);
      weight += own;
    },
    flush() {
      due = waiting.length;
      writing ??= write().finally(() => {
        writing = undefined;
      });
      return writing;
    },
  };
};
