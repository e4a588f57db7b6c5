import {Fault} from '../../shared/fault.ts';
import type {Json} from '../../shared/merge-patch.ts';
import {crashPoint} from '../services/crash-point.ts';
import type {Actor} from '../services/ports.ts';
import type {NewAuditEntry} from '../store/sqlite/audit.ts';
import {idsPerNode, isKind, type Kind, type RecordKey, type Stamp, type StampedFields} from '../store/sqlite/config-record.ts';
import type {Database, Db} from '../store/sqlite/database.ts';
import {type Change, type Touched, touchedBy} from './apply.ts';
import {laterThan, mayWriteAt} from './clock.ts';
import {type ConfigSession, openSession} from './config-session.ts';
import {buryLosers} from './name-conflict.ts';
import {createAnnouncer} from './notifier.ts';
import {type FieldsOf, type ReadableOf, readableOf} from './projection.ts';
import {recount} from './rebuild.ts';
import {stampsOf} from './remote-changes.ts';
import {type Committed, createSharedChanges, type Drawn} from './shared-changes.ts';
import type {ChangedRecord} from './working-set.ts';

/** One change of configuration on its way: everything in it commits together, or nothing does. */
export interface Draft {
  /** For looking beyond single records inside the change; what was put is there to be read. */
  tables(): Promise<Db>;
  /** A live record as it reads, with what was put. */
  find<K extends Kind>(kind: K, id: number): Promise<ReadableOf[K] | undefined>;
  /** When it happens by this node's clock, ISO 8601. */
  at: string;
  nextId(kind: Kind): Promise<number>;
  create<K extends Kind>(kind: K, id: number, fields: FieldsOf[K]): Promise<void>;
  /** Only the fields that really change: an unchanged field must not win over somebody else's edit. */
  update<K extends Kind>(kind: K, id: number, fields: Partial<FieldsOf[K]>): Promise<void>;
  remove(kind: Kind, id: number): Promise<void>;
  audit(actor: Pick<Actor, 'keyId' | 'remoteAddress'>, action: string, target: string, detail?: string): Promise<void>;
}

export interface Configuration {
  /**
   * Runs `work` in one transaction with its outbox row, then tells the listeners, then resolves. Changes that wait for the disk at the
   * same time share the transaction, each as if it came after the others; when that fails each is tried alone, so `work` may run twice.
   * What `reads` names is read together.
   */
  change<T>(work: (draft: Draft) => Promise<T>, reads?: RecordKey[]): Promise<T>;
  /**
   * Applies what was written elsewhere, in one transaction with its audit entries and with what `note` writes, then tells the
   * listeners. No outbox row: the node that wrote it tells the others. Records of kinds that this version does not know are left
   * out. Resolves with the records that have changed.
   */
  applyRemote(remote: RemoteChanges): Promise<ChangedRecord[]>;
  /** Works out hash and readable tables anew from the records; only what was wrong is written and told. */
  recount(): Promise<void>;
  /**
   * Called after each commit with the records that look different; awaited before the change resolves. A listener that rejects
   * is told of them again, before anything later or with it, and so are all others: being told twice must make no difference.
   */
  onChange(listener: (touched: Touched[]) => Promise<void>): void;
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
  /** A peer of a newer version has told of records that this one cannot keep. */
  onUnknownKinds?(unknown: string[]): void;
}

export const createConfiguration = (needs: Needs): Configuration => {
  const {database, nodeNo, now, withRoom} = needs;
  const announcer = createAnnouncer(error => needs.onListenerFailure?.(error));
  const outboxListeners: ((seq: number) => void)[] = [];

  /** Writes what `work` does; when that throws before it has done anything, nothing of it is left. */
  const draw = async <T>(session: ConfigSession, work: (draft: Draft) => Promise<T>, onBegun: () => void): Promise<Drawn<T>> => {
    const nowMs = now();
    const at = new Date(nowMs).toISOString();
    const changes: Change[] = [];
    const touched: Touched[] = [];
    let own: Promise<string> | undefined;
    const stamp = async () => {
      onBegun();
      own ??= session.tick(nowMs);
      return own;
    };
    const put = async (change: Change) => {
      requireAcceptable(change, nowMs);
      changes.push(change);
      touched.push(...(await session.put([change], now())).flatMap(touchedBy));
    };
    const write = async (kind: Kind, id: number, {fields, at: written}: {fields: object; at: string}) =>
      put({kind, id, deleted: null, fields: stamped(fields as Record<string, Json>, written)});

    const result = await work({
      at,
      async tables() {
        onBegun();
        await session.flush();
        return session.tx;
      },
      async find(kind, id) {
        const [record] = await session.find([{kind, id}]);
        return record && readableOf(kind, record);
      },
      async nextId(kind) {
        onBegun();
        return nodeNo * idsPerNode + (await session.nextId(kind));
      },
      create: async (kind, id, fields) => write(kind, id, {fields, at: await stamp()}),
      async update(kind, id, fields) {
        const [known] = await session.find([{kind, id}]);
        const before = Object.values(known?.fields ?? {}).map(([, written]) => written);
        await write(kind, id, {fields, at: laterThan(before, await stamp(), nodeNo)});
      },
      remove: async (kind, id) => put({kind, id, deleted: await stamp(), fields: {}}),
      async audit({keyId, remoteAddress}, action, target, detail = '') {
        onBegun();
        session.audit({at, key_id: keyId, action, target, remote_address: remoteAddress, result: 'ok', detail});
      },
    });
    const seq = changes.length > 0 ? await session.tell({stamp: await stamp(), changes}) : undefined;
    return {result, touched, seq};
  };

  const merge = async ({changes, stamps = changes.flatMap(stampsOf), audit, note}: RemoteChanges) =>
    database.write.transaction(async tx => {
      const session = openSession(tx, nodeNo);
      await session.prepare(changes, {isAudited: false});
      await session.observe(stamps, now());
      const changed = await session.put(changes, now());
      const touched = changed.flatMap(touchedBy);
      const seq = await buryLosers({session, touched, nodeNo, now});
      for (const entry of audit?.(changed) ?? []) session.audit(entry);
      await session.flush();
      await note?.(tx);
      return {changed, committed: {touched, seqs: seq === undefined ? [] : [seq]}};
    });

  const announce = async ({touched, seqs}: Committed): Promise<void> => {
    const last = seqs.at(-1);
    if (last !== undefined) for (const listener of outboxListeners) listener(last);
    await announcer.tell(touched);
  };

  const share = createSharedChanges({
    announce,
    async transaction(work) {
      crashPoint('change-row.before');
      const result = await withRoom(async () => database.write.transaction(async tx => work(openSession(tx, nodeNo))));
      crashPoint('change-row.after');
      return result;
    },
  });

  const known = (changes: Change[]): Change[] => {
    const unknown = new Set(changes.map(({kind}) => kind).filter(kind => !isKind(kind)));
    if (unknown.size > 0) needs.onUnknownKinds?.([...unknown]);
    return changes.filter(({kind}) => isKind(kind));
  };

  return {
    change: async (work, reads = []) => share({reads, draw: async (session, onBegun) => draw(session, work, onBegun)}),
    async applyRemote(remote) {
      const {changed, committed} = await withRoom(async () => merge({...remote, changes: known(remote.changes)}));
      await announce(committed);
      return changed;
    },
    async recount() {
      await recount({
        database,
        now,
        write: async work => withRoom(async () => database.write.transaction(work)),
        onMended: announcer.tell,
      });
    },
    onChange: announcer.onChange,
    onOutbox: listener => void outboxListeners.push(listener),
  };
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

const stamped = (fields: Record<string, Json>, stamp: string): StampedFields =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, [value, stamp]]),
  );
