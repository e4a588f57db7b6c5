// Event bus of this node: passes events to the current subscribers. It stores nothing; history is in the list, the audit log and the
// records.
import type {ClusterEvent} from '../../../shared/cluster-event.ts';

export interface BusEvent {
  /** Unique over all nodes and all their restarts. */
  id: string;
  /** The domain, or the owner of the mail, that the event is about; undefined for events that belong to no domain. */
  domainId: number | undefined;
  event: ClusterEvent;
}

type WithoutTime<E> = E extends ClusterEvent ? Omit<E, 'at'> : never;
type NewEvent = WithoutTime<ClusterEvent>;

export interface EventBus {
  readonly nodeId: string;
  publish(newEvent: NewEvent, domainId?: number): void;
  /** Returns a function that unsubscribes. `onEnd` is called when the bus closes. */
  subscribe(listener: (event: BusEvent) => void, onEnd?: () => void): () => void;
  /** Ends all subscriptions, and later ones at once. */
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
    publish(newEvent, domainId) {
      count += 1;
      const event = {...newEvent, at: new Date(now()).toISOString()} as ClusterEvent;
      for (const listener of listeners.keys())
        try {
          listener({id: `${nodeId}-${start}-${count}`, domainId, event});
        } catch (error) {
          // A failing listener must not fail the action: a mail that is already held must not be answered with 451.
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
