// Entries of the event log that belong to no change of held mail: they wait for others, and are written together.
import type {Store} from '../ports.ts';
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
  /** How many entries may wait. */
  maxWaiting?: number;
}

/** Of one transaction: other writers wait for it. */
const atOnce = 200;

export const createEventRecorder = ({store, onLeftOut, maxWaiting = 10_000}: Needs): EventRecorder => {
  let waiting: NewMailEvent[] = [];
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      const some = waiting.slice(0, atOnce);
      await store.transaction(async tx => tx.events.append(some));
      waiting = waiting.slice(some.length);
    }
  };

  return {
    record(event) {
      if (waiting.length < maxWaiting) waiting.push(event);
      else onLeftOut(1);
    },
    flush() {
      writing ??= write().finally(() => {
        writing = undefined;
      });
      return writing;
    },
  };
};
