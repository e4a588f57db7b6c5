// Configuration in a store that all nodes share: changes of this node, and the listeners that keep it in memory.
import {Fault} from '../../shared/fault.ts';
import {createChange} from '../replication/configuration.ts';
import {changedKeys, createNotifier} from '../replication/notifier.ts';
import type {CommonStore} from '../services/common-store.ts';
import type {ConfigStore} from '../services/ports.ts';
import type {ChangedKey} from '../services/records.ts';

export interface CommonConfiguration extends ConfigStore {
  /** Calls the listeners with the keys of records that other nodes have changed. Never rejects. */
  publish(changed: ChangedKey[]): Promise<void>;
  /** Whether every listener has worked through everything that was published. */
  isCurrent(): boolean;
  /** The number of this node's last change since its start; 0 before the first. */
  lastSeq(): number;
  /**
   * Whether this process has published the change with this number itself. Another process of this node (`mfd bootstrap-key`), and
   * a change whose outcome was unknown, have not.
   */
  hasPublished(seq: number): boolean;
  /** Forgets which changes up to `seq` were published; without a number, all of them. */
  forgetPublished(seq?: number): void;
}

interface Needs {
  store: Pick<CommonStore, 'changeTransaction' | 'notify'>;
  nodeNo: number;
  now: () => number;
  onListenerFailure(error: unknown): void;
}

export const createCommonConfiguration = ({store, nodeNo, now, onListenerFailure}: Needs): CommonConfiguration => {
  const notifier = createNotifier(onListenerFailure);
  const published = new Set<number>();
  let lastSeq = 0;

  return {
    change: createChange({
      write: async work =>
        store.changeTransaction(work).catch(error => {
          throw described(error);
        }),
      nodeNo,
      now,
      async publish(changed, seq) {
        if (seq === undefined) return;
        published.add(seq);
        // Not the greatest: in a database that was restored from an older copy, numbers are smaller again.
        lastSeq = seq;
        await notifier.publish(changedKeys(changed));
        store.notify();
      },
    }),
    publish: notifier.publish,
    onChange: notifier.onChange,
    isCurrent: () => !notifier.isBehind(),
    lastSeq: () => lastSeq,
    hasPublished: seq => published.has(seq),
    forgetPublished(upTo = Number.POSITIVE_INFINITY) {
      for (const seq of published) if (seq <= upTo) published.delete(seq);
    },
  };
};

/** The descriptions of the API have no other status for a change whose outcome is unknown. */
const described = (error: unknown): unknown =>
  error instanceof Fault && error.code === 'outcome_unknown'
    ? new Fault('unavailable', error.detail, {cause: error, retryAfterSeconds: 2})
    : error;
