import type {Json} from '../../shared/merge-patch.ts';
import {appendAudit} from '../store/audit.ts';
import type {Kind, StampedFields} from '../store/config-record.ts';
import type {Database, Db} from '../store/database.ts';
import {nextInSequence} from '../store/local-state.ts';
import {appendToOutbox} from '../store/outbox.ts';
import {apply, type Change, type Touched} from './apply.ts';
import {stampMs, tick} from './clock.ts';
import type {Actor} from './ports.ts';
import type {FieldsOf} from './projection.ts';

/** Numbers of one node start here, so that ids need no coordination: node number × 10^9 + local sequence. */
const idsPerNode = 1_000_000_000;

/** One change of configuration on its way: everything in it commits together, or nothing does. */
export interface Draft {
  /** For reading inside the change; what was put is there to be read. */
  tx: Db;
  /** When it happens, ISO 8601: the time of the change's stamp. */
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
  /** Called after each commit with the records that may look different; awaited before the change resolves. */
  onChange(listener: (touched: Touched[]) => Promise<void>): void;
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

  const commit = async <T>(work: (draft: Draft) => Promise<T>): Promise<{result: T; touched: Touched[]}> =>
    database.write.transaction(async tx => {
      const stamp = await tick(tx, now(), nodeNo);
      const changes: Change[] = [];
      const touched: Touched[] = [];
      const put = async (change: Change) => {
        changes.push(change);
        touched.push(...(await apply(tx, [change], now())));
      };
      const at = new Date(stampMs(stamp)).toISOString();
      const write = async (kind: Kind, id: number, fields: object) =>
        put({kind, id, deleted: null, fields: stamped(fields as Record<string, Json>, stamp)});

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
      if (changes.length > 0) await appendToOutbox(tx, {stamp, changes});
      return {result, touched};
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

  return {
    async change(work) {
      const {result, touched} = await withRoom(async () => commit(work));
      await tell(touched);
      return result;
    },
    onChange(listener) {
      listeners.push(listener);
    },
  };
};

const stamped = (fields: Record<string, Json>, stamp: string): StampedFields =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, [value, stamp]]),
  );
