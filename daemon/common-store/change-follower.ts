// Follower of the changes in the common store: keeps what this node has in memory at the number of the last change. A notification is
// only a hint to look earlier; the number is the truth.
import type {CommonStore, ConfigPosition, OwnPresence} from '../services/common-store.ts';
import type {ChangedKey} from '../services/records.ts';
import {allKeys, changedSince} from './changed-records.ts';
import type {CommonConfiguration} from './common-configuration.ts';
import type {StoreConnection} from './store-connection.ts';

export interface ChangeFollower {
  /** The position of what is in memory. */
  position(): ConfigPosition;
  /** Resolves when the store has confirmed what is in memory for the first time. */
  confirmed: Promise<void>;
  stop(): Promise<void>;
}

interface Needs {
  store: Pick<CommonStore, 'watch' | 'outbox' | 'records' | 'notePresence'>;
  configuration: Pick<CommonConfiguration, 'publish' | 'isCurrent' | 'hasPublished' | 'forgetPublished'>;
  connection: Pick<StoreConnection, 'worked' | 'failed' | 'confirmed'>;
  /** A position that was read before everything that is in memory. */
  begun: ConfigPosition;
  /** The keys of everything that is in memory. */
  known(): ChangedKey[];
  retention(): Omit<OwnPresence, 'seq'>;
  monotonic(): number;
}

export const startChangeFollower = (needs: Needs): ChangeFollower => {
  const {store, configuration, connection, begun, monotonic} = needs;
  const presence = createPresence(needs);
  let position = begun;
  /** Stays set until everything has been read again. */
  let mustReadAll = false;
  let onConfirmed = () => {};
  const confirmed = new Promise<void>(resolve => {
    onConfirmed = resolve;
  });

  /** Resolves with whether all records were read again. */
  const read = async (next: ConfigPosition, isNew: boolean): Promise<boolean> => {
    const isSame = next.seq === position.seq && next.config_hash === position.config_hash;
    if (isSame && !mustReadAll) return false;
    mustReadAll ||= isNew || next.seq <= position.seq;
    const range = {after: position.seq, upTo: next.seq};
    const changed = mustReadAll ? undefined : await changedSince(store, range, configuration.hasPublished);
    mustReadAll = changed === undefined;
    if (changed && changed.length > 0) await configuration.publish(changed);
    if (!changed) {
      configuration.forgetPublished();
      await configuration.publish([...(await allKeys(store)), ...needs.known()]);
    }
    return mustReadAll;
  };

  const onPosition = async (next: ConfigPosition, isNew: boolean, ageMs: number): Promise<void> => {
    connection.worked('poll');
    const readAtMs = monotonic();
    // The answer may have waited while this process was frozen: it is only known to be later than the question.
    const sinceMs = readAtMs - ageMs;
    try {
      const isAll = await read(next, isNew);
      // A listener has failed, and is called again later.
      if (!configuration.isCurrent()) return;
      mustReadAll = false;
      position = next;
      configuration.forgetPublished(next.seq);
      connection.worked('reading');
      connection.confirmed(isAll ? readAtMs : sinceMs);
      onConfirmed();
      presence.note(next.seq);
    } catch (error) {
      connection.failed('reading', error);
    }
  };

  const watch = store.watch({onPosition, onLost: error => connection.failed('poll', error)});
  return {
    position: () => position,
    confirmed,
    async stop() {
      await watch.stop();
      await presence.done();
    },
  };
};

const presenceMs = 5000;

/** Notes in the store that this node lives and what it has in memory; one write at a time. */
const createPresence = ({store, connection, retention, monotonic}: Needs) => {
  let notedSeq: number | undefined;
  let notedAtMs = Number.NEGATIVE_INFINITY;
  let latestSeq = 0;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    const seq = latestSeq;
    try {
      await store.notePresence({seq, ...retention()});
      notedSeq = seq;
      notedAtMs = monotonic();
      connection.worked('presence');
    } catch (error) {
      connection.failed('presence', error);
    }
  };
  const note = (seq: number): void => {
    latestSeq = seq;
    if (writing || (seq === notedSeq && monotonic() - notedAtMs < presenceMs)) return;
    writing = write().finally(() => {
      writing = undefined;
      // A change during the write is noted at once, unless the write has failed: the next position repeats it.
      if (notedSeq !== latestSeq && notedSeq === seq) note(latestSeq);
    });
  };
  return {note, done: async () => writing};
};
