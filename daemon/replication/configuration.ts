// Configuration of the cluster on this node: local changes, remote changes, and the notification of listeners.

import {Fault} from '../../shared/fault.ts';
import type {Json} from '../../shared/merge-patch.ts';
import type {NewAuditEntry} from '../services/audit/stored-entry.ts';
import type {ChangedRecord} from '../services/cluster/replication-ports.ts';
import {crashPoint} from '../services/crash-point.ts';
import type {NodeStore, NodeTransaction, RecordTransaction} from '../services/node-store.ts';
import type {ConfigStore, ConfigTransaction} from '../services/ports.ts';
import {toReadable} from '../services/readable-record.ts';
import {
  idsPerNode,
  isKind,
  type Kind,
  type ReadableOf,
  type Stamp,
  type StampedFields,
  type StoredRecord,
} from '../services/records.ts';
import {apply, type Change, isLive} from './apply.ts';
import {laterThan, mayWriteAt, observe, stampsOf, tick} from './clock.ts';
import {deleteConflicts} from './name-conflict.ts';
import {changedKeys, createNotifier} from './notifier.ts';
import {rebuild} from './rebuild.ts';

export interface Configuration extends ConfigStore {
  /**
   * Applies remote changes in one transaction, with their audit entries and the writes of `note`, then notifies the listeners. It
   * writes no outbox row: the node that made the changes sends them to the others. Records of unknown kinds are left out.
   * Resolves with the changed records.
   */
  applyRemote(remote: RemoteChanges): Promise<ChangedRecord[]>;
  /** Recomputes from the records what they are found by, their digests and the hash; writes and publishes only corrections. */
  rebuild(): Promise<void>;
  /** Called after each commit that added an event to the outbox, with the number of the event. */
  onOutbox(listener: (seq: number) => void): void;
}

interface RemoteChanges {
  changes: Change[];
  /**
   * Stamps of everything that was sent, including records that are not in `changes`: later writes of this node get greater
   * stamps.
   */
  stamps?: Stamp[];
  audit?(changed: ChangedRecord[]): NewAuditEntry[];
  note?(tx: NodeTransaction): Promise<void>;
}

interface Needs {
  store: NodeStore;
  nodeNo: number;
  now: () => number;
  /** Runs a write that must succeed even on a full disk, see `createReserveFile`. By default there is no reserve. */
  withReserve?: <T>(write: () => Promise<T>) => Promise<T>;
  onListenerFailure?(error: unknown): void;
  /** Called when a peer with a newer version sent records that this version cannot store. */
  onUnknownKinds?(unknown: string[]): void;
}

export const createConfiguration = (needs: Needs): Configuration => {
  const {store, nodeNo, now, withReserve = async write => write()} = needs;
  const notifier = createNotifier(error => needs.onListenerFailure?.(error));
  const outboxListeners: ((seq: number) => void)[] = [];

  const write = async <T>(work: (tx: NodeTransaction) => Promise<T>): Promise<T> =>
    withReserve(async () => store.transaction(work));

  /** `seq` is the number of the event in the outbox, if there is one. */
  const publish = async (changed: ChangedRecord[], seq: number | undefined): Promise<void> => {
    if (seq !== undefined) for (const listener of outboxListeners) listener(seq);
    await notifier.publish(changedKeys(changed));
  };

  const known = (changes: Change[]): Change[] => {
    const unknown = new Set(changes.map(({kind}) => kind).filter(kind => !isKind(kind)));
    if (unknown.size > 0) needs.onUnknownKinds?.([...unknown]);
    return changes.filter(({kind}) => isKind(kind));
  };

  return {
    change: createChange({write, publish, nodeNo, now}),

    async applyRemote({changes, stamps = changes.flatMap(stampsOf), audit, note}) {
      const ours = known(changes);
      const {changed, seq} = await write(async tx => {
        await observe(tx.state, stamps, now());
        const all = await apply(tx, ours, now());
        const event = await deleteConflicts(tx, all, {nodeNo, now});
        await tx.audit.append(...(audit?.(all) ?? []));
        await note?.(tx);
        return {changed: all, seq: event};
      });
      await publish(changed, seq);
      return changed;
    },

    rebuild: async () => rebuild({store, now, write, onRepaired: notifier.publish}),
    onChange: notifier.onChange,
    onOutbox: listener => void outboxListeners.push(listener),
  };
};

interface ChangeNeeds extends Pick<Needs, 'nodeNo' | 'now'> {
  write<T>(work: (tx: RecordTransaction) => Promise<T>): Promise<T>;
  /** `seq` is the number of the change, unless nothing has changed. */
  publish(changed: ChangedRecord[], seq: number | undefined): Promise<void>;
}

/** Local changes, in a store of either make. */
export const createChange =
  ({write, publish, nodeNo, now}: ChangeNeeds): ConfigStore['change'] =>
  async work => {
    crashPoint('change-row.before');
    const {result, changed, seq} = await write(async stored => {
      const {tx, written} = openTransaction(stored, {nodeNo, nowMs: now()});
      const answer = await work(tx);
      return {result: answer, ...(await written())};
    });
    crashPoint('change-row.after');
    await publish(changed, seq);
    return result;
  };

interface Written {
  changed: ChangedRecord[];
  seq: number | undefined;
}

/** `written` ends the change and writes one outbox event with all its records. */
const openTransaction = (
  stored: RecordTransaction,
  {nodeNo, nowMs}: {nodeNo: number; nowMs: number},
): {tx: ConfigTransaction; written(): Promise<Written>} => {
  const at = new Date(nowMs).toISOString();
  const changes: Change[] = [];
  const changed: ChangedRecord[] = [];
  let own: Stamp | undefined;

  const stamp = async (): Promise<Stamp> => {
    own ??= await tick(stored.state, nowMs, nodeNo);
    return own;
  };
  /** Resolves with the record after the change, if it is live. `read` is that record as it is stored; without it, it is read here. */
  const put = async <K extends Kind>(change: Change & {kind: K}, read?: StoredRecord[]): Promise<ReadableOf[K] | undefined> => {
    requireAcceptable(change, nowMs);
    changes.push(change);
    const applied = await apply(stored, [change], nowMs, {read});
    changed.push(...applied);
    const record = applied.map(({after}) => after).find(({kind, id}) => kind === change.kind && id === change.id);
    return liveIn(change.kind, record ?? read?.[0]);
  };

  const tx: ConfigTransaction = {
    at,
    config: stored.config,
    trust: stored.trust,
    nextId: async kind => nodeNo * idsPerNode + (await stored.sequences.next(kind)),
    create: async (kind, id, fields) => put({kind, id, deleted: null, fields: stamped(fields, await stamp())}),
    async update(kind, id, fields) {
      const read = await stored.records.findAll([{kind, id}]);
      const written = typeof fields === 'function' ? fields(liveIn(kind, read[0])) : fields;
      if (Object.keys(written).length === 0) return liveIn(kind, read[0]);
      const before = Object.values(read[0]?.fields ?? {}).map(([, stampOfField]) => stampOfField);
      return put({kind, id, deleted: null, fields: stamped(written, laterThan(before, await stamp(), nodeNo))}, read);
    },
    async remove(kind, id) {
      await put({kind, id, deleted: await stamp(), fields: {}});
    },
    async audit({keyId, remoteAddress}, action, target, detail = '') {
      await stored.audit.append({at, key_id: keyId, action, target, remote_address: remoteAddress, result: 'ok', detail});
    },
  };
  const written = async (): Promise<Written> => ({
    changed,
    seq: changes.length > 0 ? await stored.outbox.append({stamp: await stamp(), changes}) : undefined,
  });
  return {tx, written};
};

const liveIn = <K extends Kind>(kind: K, record: StoredRecord | undefined): ReadableOf[K] | undefined =>
  record && isLive(record) ? toReadable({...record, kind}) : undefined;

/** A change that other nodes would reject must not be acknowledged here. */
const requireAcceptable = (change: Change, nowMs: number): void => {
  if (stampsOf(change).every(stamp => mayWriteAt(stamp, nowMs))) return;
  throw new Fault(
    'unavailable',
    'this node has written with a clock that was more than a day ahead, and the other nodes would leave out what it writes now; nothing was changed: set its clock right and restart mfd on it',
    {retryAfterSeconds: 60},
  );
};

const stamped = (fields: object, stamp: Stamp): StampedFields =>
  Object.fromEntries(
    Object.entries(fields as Record<string, Json | undefined>).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, [value, stamp]]],
    ),
  );
