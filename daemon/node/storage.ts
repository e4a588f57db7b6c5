// Storage of a node, opened in an order that works even on a full disk.
import {mkdir, rm, stat} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import {createStoreConnection, type StoreConnection} from '../common-store/store-connection.ts';
import type {Config} from '../config/schema.ts';
import {createReserveFile, type ReserveFile} from '../hold/reserve-file.ts';
import {reconcile} from '../hold/spool/reconcile.ts';
import {createSpool, type Spool} from '../hold/spool/spool.ts';
import type {NodeIdentity} from '../services/actor.ts';
import type {CommonStore} from '../services/common-store.ts';
import type {NodeStore} from '../services/node-store.ts';
import type {Store, StoreTransaction} from '../services/ports.ts';
import {awayText} from '../store/postgres/connection.ts';
import {acquireLock, isDiskFull} from '../store/sqlite/database.ts';
import {openSqliteStore} from '../store/sqlite/store.ts';
import {findLostCommits} from '../store/sqlite/wal-file.ts';
import type {Closers} from './closers.ts';
import {CommandError} from './command-error.ts';
import type {DataFolder} from './data-folder.ts';

export interface Storage {
  nodeId: string;
  nodeNo: number;
  store: Store;
  engine: Engine;
  /** For mail in transit. */
  tmpDir: string;
  reserveFile: ReserveFile;
}

/** The make of the store: a database and a spool of this node, or a database that all nodes share. */
export type Engine = OwnEngine | CommonEngine;

interface OwnEngine {
  kind: 'own';
  store: NodeStore;
  spool: Spool;
  isReachable(): true;
  settled(work: Promise<unknown>): Promise<unknown>;
}

export interface CommonEngine {
  kind: 'common';
  store: CommonStore;
  connection: StoreConnection;
  /** Of PostgreSQL. */
  address: string;
  /** Whether the store answers, and takes what this node writes. */
  isReachable(): boolean;
  /** Waits for work of a node that stops, but not for a store that does not answer. */
  settled(work: Promise<unknown>): Promise<unknown>;
}

interface Needs {
  folder: DataFolder;
  config: Config;
  log: Logger;
  now: () => number;
  closers: Closers;
  /** Opens the store that all nodes share, if the configuration names one. */
  openCommon: OpenCommonStore | undefined;
}

export type OpenCommonStore = (folder: DataFolder) => Promise<{
  identity: NodeIdentity;
  store: CommonStore;
  address: string;
}>;

/** Refuses a folder that another process uses. */
export const openStorage = async (needs: Needs): Promise<Storage> => {
  const {folder, config, log, closers, openCommon} = needs;
  if (!openCommon) await requireDatabase(folder);
  const lock = await acquireLock(folder.lock);
  if (!lock) throw new CommandError(`another mfd is running on ${folder.root}`);
  closers.add(lock.release);

  const reserveFile = await createReserveFile({
    path: folder.reserveFile,
    sizeBytes: config.spool.ballast,
    minFreeBytes: config.spool.min_free,
    isDiskFull,
    onFull: () => log.error('the disk is full: the reserve file was deleted; new mail is answered 452'),
  });
  return openCommon ? openCommonStorage(needs, reserveFile, openCommon) : openOwnStorage(needs, reserveFile);
};

/** A new empty database would make it another node. */
const requireDatabase = async ({database}: DataFolder): Promise<void> => {
  if (!(await stat(database).catch(() => undefined)))
    throw new CommandError(`${database} is gone; restore it from a backup, or make a new node in another folder`);
};

const openOwnStorage = async (needs: Needs, reserveFile: ReserveFile): Promise<Storage> => {
  const {folder, closers} = needs;
  await requireWholeLog(folder);
  const store = await reserveFile.withReserve(async () => openSqliteStore(folder.database));
  closers.add(store.close);
  // Both read much of the database, which takes seconds with a million held.
  const isWhole = requireWholeDatabase(folder, store);
  const opening = openSpool(needs, {store, reserveFile, isWhole});
  await Promise.allSettled([isWhole, opening]);
  // That the database is damaged says more than what fails because of it.
  await isWhole;
  return opening;
};

interface Opened {
  store: NodeStore;
  reserveFile: ReserveFile;
  /** Rejects when the database is damaged. */
  isWhole: Promise<void>;
}

const openSpool = async ({folder, log, now}: Needs, {store, reserveFile, isWhole}: Opened): Promise<Storage> => {
  const {withReserve} = reserveFile;
  const identity = await readIdentity(store, folder.database);
  await requireSpool(folder, {store, isWhole});
  const spool = await withReserve(async () => createSpool(folder.spool));
  const {nodeId} = identity;
  const reconciled = await withReserve(async () => reconcile({store, spool, nodeId, now, mayWrite: isWhole}));
  const isComplete = reconciled.lost.length + reconciled.damaged.length + reconciled.leftover.length === 0;
  log[isComplete ? 'info' : 'error']({...reconciled}, 'spool and index reconciled');
  void reportIndexDamage(store, log);
  const engine: Engine = {kind: 'own', store, spool, isReachable: () => true, settled: async work => work};
  return {...identity, store, engine, tmpDir: spool.tmpDir, reserveFile};
};

/** Reading that index takes seconds, and only searches need it. */
const reportIndexDamage = async (store: NodeStore, log: Logger): Promise<void> => {
  const problem = await store.findIndexDamage().catch(() => undefined);
  if (problem !== undefined)
    log.error({problem}, 'searches for subjects miss held mail: their index is damaged; stop the node and run mfd repair');
};

/** How long a node that stops waits for answers of the store. */
const lastAnswersMs = 1000;

const openCommonStorage = async (
  {folder, log, closers}: Needs,
  reserveFile: ReserveFile,
  openCommon: OpenCommonStore,
): Promise<Storage> => {
  const {identity, store, address} = await openCommon(folder);
  const settled = async (work: Promise<unknown>) => Promise.race([work, delay(lastAnswersMs, undefined, {ref: false})]);
  closers.add(async () => void (await settled(store.close())));
  const connection = createStoreConnection({
    monotonic: () => performance.now(),
    onLost(error) {
      log.error(`${awayText(address, error)}; requests are answered 503, and mail 451`);
      log.debug({err: error}, 'the error of PostgreSQL');
    },
    onBack: () => log.info(`PostgreSQL at ${address} answers again`),
  });
  const tmpDir = join(folder.spool, 'tmp');
  await reserveFile.withReserve(async () => makeEmpty(tmpDir));
  const {isReachable} = connection;
  return {...identity, store, engine: {kind: 'common', store, connection, address, isReachable, settled}, tmpDir, reserveFile};
};

/** Its files belong to mail that was never acknowledged. */
const makeEmpty = async (path: string): Promise<void> => {
  await rm(path, {recursive: true, force: true});
  await mkdir(path, {recursive: true, mode: 0o700});
};

/** Why a node with this store cannot take requests or mail. */
export const storeFault = (engine: Engine): string | undefined => {
  if (engine.kind === 'common') {
    const fault = engine.connection.fault();
    return fault === undefined ? undefined : awayText(engine.address, fault);
  }
  const damage = engine.store.damage();
  return damage === undefined ? undefined : `the database is damaged: ${damage}`;
};

/** The same for a caller without a key, who does not learn where the database is. */
export const publicStoreFault = (engine: Engine): string | undefined =>
  engine.kind === 'common' && engine.connection.fault() !== undefined
    ? 'PostgreSQL does not answer: requests are answered 503, and mail 451; the log of this node says why'
    : storeFault(engine);

/** Runs before SQLite opens the log: SQLite would accept its readable part as complete and overwrite the rest. */
const requireWholeLog = async ({database, root}: DataFolder): Promise<void> => {
  const lost = await findLostCommits(database);
  if (!lost) return;
  throw new CommandError(
    `${database}-wal is damaged at byte ${lost.atByte}: changes that were acknowledged would be forgotten; mfd repair --data ${root} saves what can be saved, and says what is lost`,
  );
};

const requireWholeDatabase = async ({database: path, root}: DataFolder, store: NodeStore): Promise<void> => {
  const problem = await store.findDamage();
  if (problem === undefined) return;
  throw new CommandError(
    `${path} is damaged (${problem}); mfd repair --data ${root} rebuilds it from what can be read, or restore it from a backup`,
  );
};

/** If the spool is not mounted, all mails would be marked as lost. */
const requireSpool = async (folder: DataFolder, {store, isWhole}: Pick<Opened, 'store' | 'isWhole'>): Promise<void> => {
  const held = join(folder.spool, 'held');
  if (await stat(held).catch(() => undefined)) return;
  await isWhole;
  const count = await store.hold.countHeldBy('spool');
  if (count > 0)
    throw new CommandError(
      `${held} is not there, while the database counts ${count} held: mount or restore the spool, or make that folder to go on without them`,
    );
};

/** The identity of this node; a database without one does not belong to a node. */
export const readIdentity = async ({state}: Pick<Store, 'state'>, filename: string): Promise<NodeIdentity> => {
  const nodeId = await state.read('node_id');
  const nodeNo = Number(await state.read('node_no'));
  if (!nodeId || !Number.isSafeInteger(nodeNo) || nodeNo < 1)
    throw new CommandError(`${filename} is not the database of a node; restore it from a backup`);
  return {nodeId, nodeNo};
};

/** For a database that is new. */
export const writeIdentity = async ({state}: StoreTransaction, {nodeId, nodeNo}: NodeIdentity): Promise<void> => {
  await state.write('node_id', nodeId);
  await state.write('node_no', String(nodeNo));
};
