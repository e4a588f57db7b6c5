import type {Json} from '../../shared/merge-patch.ts';
import {appendAudit} from '../store/audit.ts';
import {findRecord, idsPerNode, type Kind, type StampedFields} from '../store/config-record.ts';
import type {Database, Db} from '../store/database.ts';
import {nextInSequence} from '../store/local-state.ts';
import {appendToOutbox} from '../store/outbox.ts';
import {apply, type Change, recount, type Touched} from './apply.ts';
import {laterThan, observe, tick} from './clock.ts';
import {buryLosers} from './name-conflict.ts';
import type {Actor} from './ports.ts';
import type {FieldsOf} from './projection.ts';

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
   * listeners. No outbox row: whoever wrote it tells the others.
   */
  absorb(changes: Change[], note: (tx: Db) => Promise<void>): Promise<void>;
  /** Works out hash and readable tables anew from the records. */
  recount(): Promise<void>;
  /** Called after each commit with the records that may look different; awaited before the change resolves. */
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
}

export const createConfiguration = ({database, nodeNo, now, withRoom}: Needs): Configuration => {
  const listeners: ((touched: Touched[]) => Promise<void>)[] = [];
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
      const write = async (kind: Kind, id: number, fields: object) => {
        const known = await findRecord(tx, {kind, id});
        const before = Object.values(known?.fields ?? {}).map(([, written]) => written);
        await put({kind, id, deleted: null, fields: stamped(fields as Record<string, Json>, laterThan(before, stamp, nodeNo))});
      };

      const result = await work({
        tx,
        at,
        nextId: async kind => nodeNo * idsPerNode + (await nextInSequence(tx, kind)),
        create: write,
        update: write,
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

  // One after the other: a listener that reads what it keeps must not be overtaken by one that reads later.
  let told: Promise<void> = Promise.resolve();
  const tell = async (touched: Touched[]): Promise<void> => {
    const before = told.catch(() => {});
    told = before.then(async () => {
      for (const listener of listeners) await listener(touched);
    });
    return told;
  };

  const announce = async ({touched, seq}: Committed): Promise<void> => {
    if (seq !== undefined) for (const listener of outboxListeners) listener(seq);
    await tell(touched);
  };

  return {
    async change(work) {
      const {result, ...committed} = await withRoom(async () => commit(work));
      await announce(committed);
      return result;
    },
    async absorb(changes, note) {
      await announce(await withRoom(async () => takeOver(changes, note)));
    },
    async recount() {
      const touched = await withRoom(async () => database.write.transaction(async tx => recount(tx, now())));
      await announce({touched, seq: undefined});
    },
    onChange: listener => void listeners.push(listener),
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
