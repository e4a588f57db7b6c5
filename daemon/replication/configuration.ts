// Configuration of this cluster as this node has it: changes of its own, changes from others, and who is notified of them.
import type {Domain} from '../../shared/domain.ts';
import {Fault} from '../../shared/fault.ts';
import type {Json} from '../../shared/merge-patch.ts';
import {crashPoint} from '../services/crash-point.ts';
import type {Actor} from '../services/ports.ts';
import {appendAudit, type NewAuditEntry} from '../store/sqlite/audit.ts';
import {findRecords, idsPerNode, isKind, type Kind, type Stamp, type StampedFields} from '../store/sqlite/config-record.ts';
import type {Database, Db} from '../store/sqlite/database.ts';
import {findDomain} from '../store/sqlite/domain.ts';
import {nextInSequence} from '../store/sqlite/local-state.ts';
import {appendEvent} from '../store/sqlite/outbox.ts';
import {apply, type Change} from './apply.ts';
import {type ChangedKey, type ChangedRecord, changedKeys} from './changed-record.ts';
import {laterThan, mayWriteAt, observe, tick} from './clock.ts';
import {deleteConflicts} from './name-conflict.ts';
import {createNotifier} from './notifier.ts';
import type {FieldsOf} from './projection.ts';
import {rebuild} from './rebuild.ts';
import {stampsOf} from './remote-changes.ts';

/** One change of this node's own: everything in it commits together, or nothing does. What was written is there to be read. */
export interface ConfigTransaction {
  /** For reading more than one record. */
  db: Db;
  /** When it happens by this node's clock, ISO 8601. */
  at: string;
  findDomain(id: number): Promise<Domain | undefined>;
  nextId(kind: Kind): Promise<number>;
  create<K extends Kind>(kind: K, id: number, fields: FieldsOf[K]): Promise<void>;
  /** Only the fields that really change: an unchanged field must not win over somebody else's edit. */
  update<K extends Kind>(kind: K, id: number, fields: Partial<FieldsOf[K]>): Promise<void>;
  remove(kind: Kind, id: number): Promise<void>;
  audit(actor: Pick<Actor, 'keyId' | 'remoteAddress'>, action: string, target: string, detail?: string): Promise<void>;
}

export interface Configuration {
  /**
   * Runs `work` in one transaction with its outbox row, then calls the listeners, then resolves. On a full disk `work` may run
   * twice, see `createBallast`.
   */
  change<T>(work: (tx: ConfigTransaction) => Promise<T>): Promise<T>;
  /**
   * Applies what was written elsewhere, in one transaction with its audit entries and with what `note` writes, then calls the
   * listeners. No outbox row: the node that wrote it tells the others. Records of kinds that this version does not know are left
   * out. Resolves with the records that have changed.
   */
  applyRemote(remote: RemoteChanges): Promise<ChangedRecord[]>;
  /** Works out hash and readable tables from the records; only what was wrong is written and published. */
  rebuild(): Promise<void>;
  /**
   * Called after each commit with the records that look different; awaited before the change resolves. A listener that rejects
   * is called again with them, before anything later or with it, and so are all others: a second call must make no difference.
   */
  onChange(listener: (changed: ChangedKey[]) => Promise<void>): void;
  /** Called after each commit that left an event in the outbox, with its number. */
  onOutbox(listener: (seq: number) => void): void;
}

export interface RemoteChanges {
  changes: Change[];
  /** Of everything that was sent, also of what is not among `changes`: what this node writes from now on is later. */
  stamps?: Stamp[];
  audit?(changed: ChangedRecord[]): NewAuditEntry[];
  note?(tx: Db): Promise<void>;
}

interface Needs {
  database: Database;
  nodeNo: number;
  now: () => number;
  /** Runs a write that must succeed even on a full disk, see `createBallast`. */
  withRoom: <T>(write: () => Promise<T>) => Promise<T>;
  onListenerFailure?(error: unknown): void;
  /** A peer of a newer version has sent records that this one cannot keep. */
  onUnknownKinds?(unknown: string[]): void;
}

export const createConfiguration = (needs: Needs): Configuration => {
  const {database, nodeNo, now, withRoom} = needs;
  const notifier = createNotifier(error => needs.onListenerFailure?.(error));
  const outboxListeners: ((seq: number) => void)[] = [];

  const write = async <T>(work: (tx: Db) => Promise<T>): Promise<T> => withRoom(async () => database.transaction(work));

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
    async change(work) {
      crashPoint('change-row.before');
      const {result, changed, seq} = await write(async db => {
        const {tx, written} = openTransaction(db, {nodeNo, nowMs: now()});
        const answer = await work(tx);
        return {result: answer, ...(await written())};
      });
      crashPoint('change-row.after');
      await publish(changed, seq);
      return result;
    },

    async applyRemote({changes, stamps = changes.flatMap(stampsOf), audit, note}) {
      const ours = known(changes);
      const {changed, seq} = await write(async db => {
        await observe(db, stamps, now());
        const all = await apply(db, ours, now());
        const event = await deleteConflicts(db, all, {nodeNo, now});
        await appendAudit(db, ...(audit?.(all) ?? []));
        await note?.(db);
        return {changed: all, seq: event};
      });
      await publish(changed, seq);
      return changed;
    },

    rebuild: async () => rebuild({database, now, write, onRepaired: notifier.publish}),
    onChange: notifier.onChange,
    onOutbox: listener => void outboxListeners.push(listener),
  };
};

interface Written {
  changed: ChangedRecord[];
  seq: number | undefined;
}

/** `written` ends the change: one event with everything in it goes to the outbox. */
const openTransaction = (
  db: Db,
  {nodeNo, nowMs}: {nodeNo: number; nowMs: number},
): {tx: ConfigTransaction; written(): Promise<Written>} => {
  const at = new Date(nowMs).toISOString();
  const changes: Change[] = [];
  const changed: ChangedRecord[] = [];
  let own: Stamp | undefined;

  const stamp = async (): Promise<Stamp> => {
    own ??= await tick(db, nowMs, nodeNo);
    return own;
  };
  const put = async (change: Change): Promise<void> => {
    requireAcceptable(change, nowMs);
    changes.push(change);
    changed.push(...(await apply(db, [change], nowMs)));
  };

  const tx: ConfigTransaction = {
    db,
    at,
    findDomain: async id => findDomain(db, id),
    nextId: async kind => nodeNo * idsPerNode + (await nextInSequence(db, kind)),
    async create(kind, id, fields) {
      await put({kind, id, deleted: null, fields: stamped(fields, await stamp())});
    },
    async update(kind, id, fields) {
      const [known] = await findRecords(db, [{kind, id}]);
      const before = Object.values(known?.fields ?? {}).map(([, written]) => written);
      await put({kind, id, deleted: null, fields: stamped(fields, laterThan(before, await stamp(), nodeNo))});
    },
    async remove(kind, id) {
      await put({kind, id, deleted: await stamp(), fields: {}});
    },
    async audit({keyId, remoteAddress}, action, target, detail = '') {
      await appendAudit(db, {at, key_id: keyId, action, target, remote_address: remoteAddress, result: 'ok', detail});
    },
  };
  const written = async (): Promise<Written> => ({
    changed,
    seq: changes.length > 0 ? await appendEvent(db, {stamp: await stamp(), changes}) : undefined,
  });
  return {tx, written};
};

/** What other nodes leave out must not be acknowledged here. */
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
