// `mfd repair`: rebuilds a damaged database of a stopped node from its readable part, the log before the damage, and the spool.

import {X509Certificate} from 'node:crypto';
import {copyFile, mkdir, readFile, rename, rm, stat} from 'node:fs/promises';
import {join} from 'node:path';
import {identityIn} from '../cluster/peer-identity.ts';
import {reconcile} from '../hold/spool/reconcile.ts';
import {createSpool} from '../hold/spool/spool.ts';
import {CommandError} from '../node/command-error.ts';
import {type DataFolder, dataFolder} from '../node/data-folder.ts';
import {readIdentity, writeIdentity} from '../node/storage.ts';
import {createConfiguration} from '../replication/configuration.ts';
import {findDamagedRecords} from '../replication/rebuild.ts';
import {createReplication} from '../replication/replication.ts';
import type {NodeIdentity} from '../services/actor.ts';
import {nodeEntry} from '../services/audit/stored-entry.ts';
import type {NodeStore} from '../services/node-store.ts';
import type {RecordKey} from '../services/records.ts';
import {acquireLock} from '../store/sqlite/database.ts';
import {copyReadableRows} from '../store/sqlite/readable-rows.ts';
import {openSqliteStore} from '../store/sqlite/store.ts';
import {findLostCommits, type LostCommits} from '../store/sqlite/wal-file.ts';

/** Reports each step and each loss in a line. */
export const repair = async (data: string, print: (line: string) => void): Promise<void> => {
  const folder = dataFolder(data);
  if (await stat(folder.identity).catch(() => undefined))
    throw new CommandError(
      `the data of this node is in PostgreSQL, which mfd cannot repair: restore that database from a backup or a standby, and start the nodes again`,
    );
  if (!(await stat(folder.database).catch(() => undefined))) throw new CommandError(`${folder.database} is not there`);
  const lock = await acquireLock(folder.lock);
  if (!lock) throw new CommandError(`another mfd is running on ${folder.root}; stop it first`);
  try {
    const backup = await backUpDatabase(folder);
    print(`a copy of the database is in ${backup}`);
    const found: string[] = [];
    const note = (line: string) => {
      found.push(line);
      print(line);
    };
    const lost = await findLostCommits(folder.database);
    if (lost) await cutLog(folder, lost, note);
    const store = await openOrRebuild(folder, note);
    try {
      await repairContents(folder, store, note);
      if (found.length === 0) print('nothing is damaged');
      const detail = found.join('; ').slice(0, 4000);
      const entry = nodeEntry({at: new Date().toISOString(), action: 'node.repair', target: data, detail});
      await store.transaction(async tx => tx.audit.append(entry));
    } finally {
      await store.close();
    }
  } finally {
    await lock.release();
  }
};

const ends = ['', '-wal', '-shm'];

const backUpDatabase = async ({root, database}: DataFolder): Promise<string> => {
  const backup = join(root, `before-repair-${new Date().toISOString().replace(/[:.]/g, '-')}`);
  await mkdir(backup, {mode: 0o700});
  for (const end of ends) await copyFile(`${database}${end}`, join(backup, `mfd.db${end}`)).catch(ignoreMissing);
  return backup;
};

/** Cuts the log at the damage, as SQLite never reads beyond it. */
const cutLog = async ({database}: DataFolder, {atByte, isCopied}: LostCommits, note: (line: string) => void): Promise<void> => {
  if (isCopied !== 'no') for (const end of ['-wal', '-shm']) await rm(`${database}${end}`, {force: true});
  note(
    isCopied === 'all'
      ? 'the log of the database was damaged, but no change is lost'
      : `the log of the database was damaged at byte ${atByte}: the latest changes are lost`,
  );
};

/** Opens the database, or a new one with its readable part. */
const openOrRebuild = async (folder: DataFolder, note: (line: string) => void): Promise<NodeStore> => {
  const before = await openSqliteStore(folder.database).catch(() => undefined);
  const damageIn = async (store: NodeStore) => (await store.findDamage()) ?? store.findIndexDamage();
  const problem = before ? await damageIn(before).catch(String) : 'it cannot be opened';
  const logProblem = problem === undefined ? await before?.findLogDamage().catch(String) : undefined;
  if (before && problem === undefined && logProblem === undefined) return before;
  await before?.close();

  const fresh = `${folder.database}.new`;
  for (const end of ends) await rm(`${fresh}${end}`, {force: true});
  const {rows, incomplete, log} = await copyReadableRows(folder.database, fresh);
  // A database of no node must not replace the damaged one.
  const copy = await openSqliteStore(fresh);
  await requireIdentity(folder, copy).finally(copy.close);
  note(
    `the ${problem === undefined ? 'event log' : 'database'} was damaged (${problem ?? logProblem}); read: ${Object.entries(rows)
      .map(([table, count]) => `${table} ${count}`)
      .join(', ')}${incomplete.length > 0 ? `; rows are lost of: ${incomplete.join(', ')}` : ''}`,
  );
  if (!log.isWhole)
    note(
      log.copied === 0
        ? 'the event log is lost: no entry of it can be read'
        : `entries of the event log are lost; read: ${log.copied}, from ${log.oldest} to ${log.newest}`,
    );
  for (const end of ends.slice(1)) await rm(`${folder.database}${end}`, {force: true});
  await rename(fresh, folder.database);
  return openSqliteStore(folder.database);
};

/** The identity from the database, or else from the certificate. */
const requireIdentity = async (folder: DataFolder, store: NodeStore): Promise<NodeIdentity> => {
  const known = await readIdentity(store, folder.database).catch(() => undefined);
  if (known) return known;
  const {subjectAltName} = new X509Certificate(await readFile(folder.nodeCert));
  const certified = identityIn(subjectAltName);
  if (!certified) throw new CommandError(`neither ${folder.database} nor ${folder.nodeCert} says which node this is`);
  await store.transaction(async tx => writeIdentity(tx, certified));
  return certified;
};

const repairContents = async (folder: DataFolder, store: NodeStore, note: (line: string) => void): Promise<void> => {
  const {nodeId, nodeNo} = await requireIdentity(folder, store);
  const damaged = await findDamagedRecords(store.records);
  await store.transaction(async tx => {
    for (const key of damaged) await tx.records.drop(key);
  });
  if (damaged.length > 0)
    note(`damaged records removed: ${damaged.map(nameOf).join(', ')}; other nodes restore them, otherwise create them again`);
  const configuration = createConfiguration({store, nodeNo, now: Date.now});
  await configuration.rebuild();
  // Ids and numbers of lost changes must not be reused.
  await createReplication({store, configuration, nodeNo}).skipIds();

  const spool = await createSpool(folder.spool);
  const {indexed, remade, lost, damaged: files} = await reconcile({store, spool, nodeId, now: Date.now, isThorough: true});
  if (indexed > 0) note(`mails listed again: ${indexed}`);
  if (remade.length > 0) note(`mails whose list entries were wrong and have been corrected: ${remade.join(', ')}`);
  if (lost.length > 0)
    note(`mails without a file (held, or released, discarded or expired in the lost changes): ${lost.join(', ')}`);
  if (files.length > 0) note(`damaged mail files, now in ${join(folder.spool, 'damaged')}: ${files.join(', ')}`);
};

const nameOf = ({kind, id}: RecordKey): string => `${kind} ${id}`;

const ignoreMissing = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOENT') throw error;
};
