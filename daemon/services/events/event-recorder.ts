// Entries of the event log that belong to no change of held mail: they wait for others, and are written together.
import {setImmediate as afterOthers} from 'node:timers/promises';
import type {Store} from '../ports.ts';
import {inPieces, weightOf, weightOfPiece} from './event-weight.ts';
import type {NewMailEvent} from './mail-event.ts';

export interface EventRecorder {
  /** Never throws, and never waits. */
  record(event: NewMailEvent): void;
  /** Writes what waits. Call it at least twice a second, and at the end. Rejects when the store does; what waits stays then. */
  flush(): Promise<void>;
}

interface Needs {
  store: Pick<Store, 'transaction'>;
  /** Called with the number of entries that could not be kept, because the store takes none for a while. */
  onLeftOut(count: number): void;
  /** What entries may weigh together that wait. */
  maxWaiting?: number;
}

/** About 10,000 plain entries. */
const usualMaxWaiting = 50 * weightOfPiece;

export const createEventRecorder = ({store, onLeftOut, maxWaiting = usualMaxWaiting}: Needs): EventRecorder => {
  let waiting: NewMailEvent[] = [];
  let weight = 0;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      // Each in a transaction of its own: other writers wait for it.
      for (const some of inPieces(waiting)) {
        await store.transaction(async tx => tx.events.append(some));
        waiting = waiting.slice(some.length);
        for (const event of some) weight -= weightOf(event);
        await afterOthers();
      }
    }
  };

  return {
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
      writing ??= write().finally(() => {
        writing = undefined;
      });
      return writing;
    },
  };
};
