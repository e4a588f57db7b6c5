// Notifier of configuration changes, in the order of the commits, for listeners that keep configuration in memory.

import type {ChangedRecord} from '../services/cluster/replication-ports.ts';
import type {ChangedKey} from '../services/records.ts';

type Listener = (changed: ChangedKey[]) => Promise<void>;

export interface Notifier {
  onChange(listener: Listener): void;
  /** Resolves once every listener was called; a failed listener is called again later. Never rejects. */
  publish(changed: ChangedKey[]): Promise<void>;
  /** Whether a listener has failed and has not been called again with success since. */
  isBehind(): boolean;
}

const backoff = {firstMs: 100, mostMs: 10_000};

/**
 * Published changes are committed, so a listener that fails has stale data until it is called again. The changes are published
 * again to all listeners, after a pause or with the next change, because the listeners depend on each other.
 */
export const createNotifier = (onFailure: (error: unknown) => void): Notifier => {
  const listeners: Listener[] = [];
  let missed: ChangedKey[] = [];
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  // One call at a time: a listener that reads its data must not be overtaken by a later read.
  let published: Promise<void> = Promise.resolve();

  const callAll = async (fresh: ChangedKey[]): Promise<void> => {
    clearTimeout(timer);
    const changed = distinct([...missed, ...fresh]);
    let hasFailed = false;
    for (const listener of listeners)
      try {
        await listener(changed);
      } catch (error) {
        hasFailed = true;
        onFailure(error);
      }
    missed = hasFailed ? changed : [];
    failures = hasFailed ? failures + 1 : 0;
    if (hasFailed) timer = setTimeout(() => void publish([]), pauseMs(failures)).unref();
  };

  const publish = async (changed: ChangedKey[]): Promise<void> => {
    published = published.then(async () => callAll(changed));
    return published;
  };

  return {onChange: listener => void listeners.push(listener), publish, isBehind: () => failures > 0};
};

const pauseMs = (failures: number): number => Math.min(backoff.mostMs, backoff.firstMs * 2 ** (failures - 1));

const distinct = (changed: ChangedKey[]): ChangedKey[] => [
  ...new Map(changed.map(one => [`${one.kind}/${one.id}/${one.parent_id}`, one])).values(),
];

/** A record that moved to another parent is listed under its former parent as well. */
export const changedKeys = (changed: ChangedRecord[]): ChangedKey[] =>
  changed.flatMap(({before, after: {kind, id, parent_id}}) => {
    const hasMoved = before && before.parent_id !== null && before.parent_id !== parent_id;
    return [{kind, id, parent_id}, ...(hasMoved ? [{kind, id, parent_id: before.parent_id}] : [])];
  });
