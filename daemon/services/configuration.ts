import type {Json} from '../../shared/merge-patch.ts';
import {appendAudit} from '../store/audit.ts';
import {findRecord, idsPerNode, isKind, type Kind, type StampedFields} from '../store/config-record.ts';
import type {Database, Db} from '../store/database.ts';
import {nextInSequence} from '../store/local-state.ts';
import {appendToOutbox} from '../store/outbox.ts';
import {createAnnouncer} from './announcer.ts';
import {apply, type Change, type Touched} from './apply.ts';
import {laterThan, observe, tick} from './clock.ts';
import {crashPoint} from './crash-point.ts';
import {buryLosers} from './name-conflict.ts';
import type {Actor} from './ports.ts';
import type {FieldsOf} from './projection.ts';
import {recount} from './recount.ts';

/** One change of configuration on its way: everything in it commits together, or nothing does. */
export interface Draft {
  /** For reading inside the change; what was put is there to be read. */
  tx: Db;
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
  /** Runs `work` in one transaction with its outbox row, then tells the listeners, then resolves. */
  change<T>(work: (draft: Draft) => Promise<T>): Promise<T>;
  /**
   * Takes over what was written elsewhere, in one transaction with what `note` writes down about it, then tells the
   * listeners. No outbox row: whoever wrote it tells the others. Records of kinds that this version does not know are left out.
   */
  absorb(changes: Change[], note: (tx: Db) => Promise<void>): Promise<void>;
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

  const commit = async <T>(work: (draft: Draft) => Promise<T>): Promise<Committed & {result: T}> =>
    database.write.transaction(async tx => {
      const nowMs = now();
      const stamp = await tick(tx, nowMs, nodeNo);
      const changes: Change[] = [];
      const touched: Touched[] = [];
      const put = async (change: Change) => {
        changes.push(change);
        touched.push(...(await apply(tx, [change], now())));
      };
      const at = new Date(nowMs).toISOString();
      const write = async (kind: Kind, id: number, {fields, at: written}: {fields: object; at: string}) =>
        put({kind, id, deleted: null, fields: stamped(fields as Record<string, Json>, written)});

      const result = await work({
        tx,
        at,
        nextId: async kind => nodeNo * idsPerNode + (await nextInSequence(tx, kind)),
        create: async (kind, id, fields) => write(kind, id, {fields, at: stamp}),
        async update(kind, id, fields) {
          const known = await findRecord(tx, {kind, id});
          const before = Object.values(known?.fields ?? {}).map(([, written]) => written);
          await write(kind, id, {fields, at: laterThan(before, stamp, nodeNo)});
        },
        remove: async (kind, id) => put({kind, id, deleted: stamp, fields: {}}),
        audit: async ({keyId, remoteAddress}, action, target, detail = '') =>
          appendAudit(tx, {at, key_id: keyId, action, target, remote_address: remoteAddress, result: 'ok', detail}),
      });
      const seq = changes.length > 0 ? await appendToOutbox(tx, {stamp, changes}) : undefined;
      return {result, touched, seq};
    });

  const takeOver = async (changes: Change[], note: (tx: Db) => Promise<void>): Promise<Committed> =>
    database.write.transaction(async tx => {
      await observe(tx, changes.flatMap(stampsOf), now());
      const touched = await apply(tx, changes, now());
      const seq = await buryLosers({tx, touched, nodeNo, now});
      await note(tx);
      return {touched, seq};
    });

  const announce = async ({touched, seq}: Committed): Promise<void> => {
    if (seq !== undefined) for (const listener of outboxListeners) listener(seq);
    await announcer.tell(touched);
  };

  const known = (changes: Change[]): Change[] => {
    const unknown = new Set(changes.map(({kind}) => kind).filter(kind => !isKind(kind)));
    if (unknown.size > 0) needs.onUnknownKinds?.([...unknown]);
    return changes.filter(({kind}) => isKind(kind));
  };

  return {
    async change(work) {
      crashPoint('change-row.before');
      const {result, ...committed} = await withRoom(async () => commit(work));
      crashPoint('change-row.after');
      await announce(committed);
      return result;
    },
    async absorb(changes, note) {
      await announce(await withRoom(async () => takeOver(known(changes), note)));
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

interface Committed {
  touched: Touched[];
  /** Of the event this left in the outbox, if any. */
  seq: number | undefined;
}

const stampsOf = ({fields, deleted}: Change): string[] => [
  ...Object.values(fields).map(([, stamp]) => stamp),
  ...(deleted === null ? [] : [deleted]),
];

const stamped = (fields: Record<string, Json>, stamp: string): StampedFields =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, [value, stamp]]),
  );
