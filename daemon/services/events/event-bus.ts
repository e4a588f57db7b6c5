// What happens on this node, told to whoever listens at that moment. Nothing is kept: the list, the log and the records say
// what has been.
import type {ClusterEvent} from '../../../shared/cluster-event.ts';

export interface BusEvent {
  /** Unique over all nodes and all their starts. */
  id: string;
  /** Whose mail it is about, or which domain; undefined for what belongs to no domain. */
  domainId: number | undefined;
  event: ClusterEvent;
}

type WithoutTime<E> = E extends ClusterEvent ? Omit<E, 'at'> : never;
type Happening = WithoutTime<ClusterEvent>;

export interface EventBus {
  readonly nodeId: string;
  publish(happening: Happening, domainId?: number): void;
  /** Returns how to stop listening. `onEnd` is called when nothing more will come. */
  subscribe(listener: (event: BusEvent) => void, onEnd?: () => void): () => void;
  /** Tells everybody that nothing more will come, and whoever comes after that too. */
  close(): void;
}

interface Needs {
  nodeId: string;
  now: () => number;
  onFailure(error: unknown): void;
}

export const createEventBus = ({nodeId, now, onFailure}: Needs): EventBus => {
  const listeners = new Map<(event: BusEvent) => void, () => void>();
  const start = now().toString(36);
  let count = 0;
  let isClosed = false;

  return {
    nodeId,
    publish(happening, domainId) {
      count += 1;
      const event = {...happening, at: new Date(now()).toISOString()} as ClusterEvent;
      for (const listener of listeners.keys())
        try {
          listener({id: `${nodeId}-${start}-${count}`, domainId, event});
        } catch (error) {
          // What has happened has happened: a mail that is held must not be answered 451 because somebody could not be told.
          onFailure(error);
        }
    },
    subscribe(listener, onEnd = () => {}) {
      if (isClosed) onEnd();
      else listeners.set(listener, onEnd);
      return () => void listeners.delete(listener);
    },
    close() {
      isClosed = true;
      const ends = [...listeners.values()];
      listeners.clear();
      for (const end of ends) end();
    },
  };
};
