// `mfd migrate`: moves a stopped node from SQLite and its spool into a PostgreSQL that all nodes share. A repetition continues.
import {readFile, rename, stat} from 'node:fs/promises';
import {resolve} from 'node:path';
import type {Command} from 'commander';
import {loadConfig, readConfig} from '../config/load.ts';
import {type StoreSettings, storeSettings} from '../config/store-settings.ts';
import {createSpool} from '../hold/spool/spool.ts';
import {CommandError} from '../node/command-error.ts';
import {type DataFolder, dataFolder, syncFolders} from '../node/data-folder.ts';
import {readClusterFingerprint, readIdentityFile, writeIdentityFile} from '../node/identity-file.ts';
import {readIdentity} from '../node/storage.ts';
import type {NodeIdentity} from '../services/actor.ts';
import {nodeEntry} from '../services/audit/stored-entry.ts';
import type {CommonStore} from '../services/common-store.ts';
import {missingKeys, valueIn, withKeys} from '../setup/node-config.ts';
import {inspectPostgres} from '../store/postgres/inspect.ts';
import {createPostgresTables, openPostgresStore} from '../store/postgres/store.ts';
import {acquireLock} from '../store/sqlite/database.ts';
import {openSqliteStore} from '../store/sqlite/store.ts';
import {openStoredRows} from '../store/sqlite/stored-rows.ts';
import {findLostCommits} from '../store/sqlite/wal-file.ts';
import {asOwnerOf} from './as-owner.ts';
import {allRecords, moveAudit, moveConfig, moveEvents, moveReceived, moveWebhooks, requireSameConfig} from './migrate-config.ts';
import {type MailCounts, moveMail} from './migrate-mail.ts';
import {writeConfig} from './new-folder.ts';
import {type StoreOptions, storeKeys} from './store-options.ts';

interface Options extends StoreOptions {
  data: string;
  dryRun?: boolean;
  json?: boolean;
}

/** What `mfd migrate --json` prints. */
interface MigrateReport {
  node_id: string;
  dry_run: boolean;
  /** Whether this node is the first, whose configuration is that of the cluster. */
  is_first: boolean;
  records: number;
  audit: number;
  events: number;
  mails: MailCounts;
  /** The former files, which can be deleted. */
  kept: string[];
}

export const addMigrateCommand = (mfd: Command, print: (text: string) => void, warn: (text: string) => void): void => {
  mfd
    .command('migrate')
    .description('move a stopped node from SQLite into a PostgreSQL that all nodes share; repeat it to continue')
    .requiredOption('--data <dir>', 'data directory')
    .requiredOption('--store-url <url>', 'the database, as postgres://USER@HOST:PORT/DB; empty for the first node of a cluster')
    .option('--store-password-file <file>', 'file with the password for --store-url')
    .option('--store-ca-file <file>', 'authority (PEM) of the database server (default: those of the system)')
    .option('--dry-run', 'count and check, and write nothing')
    .option('--json', 'print one JSON object')
    .addHelpText('after', help)
    .action(async (options: Options) => {
      const report = await asOwnerOf(options.data, async () => migrate(options, warn));
      print(options.json ? JSON.stringify(report) : reportText(report));
    });
};

const help = `
Stop all nodes of the cluster once they have the same configuration, migrate one after the other, and start them. The
old files stay as mfd.db.migrated and spool.migrated. Join tokens are not moved: make new ones.`;

const migrate = async (options: Options, warn: (text: string) => void): Promise<MigrateReport> => {
  const folder = dataFolder(resolve(options.data));
  const planned = await planConfig(folder, options);
  const lock = await acquireLock(folder.lock);
  if (!lock) throw new CommandError(`another mfd is running on ${folder.root}; stop it first`);
  try {
    const cluster = await readClusterFingerprint(folder.caCert);
    const {hasCluster, warnings} = await inspectPostgres(planned.store, cluster);
    for (const warning of warnings) warn(warning);
    const isDry = options.dryRun ?? false;
    const report = (await exists(folder.database))
      ? await moveAll(folder, {settings: planned.store, cluster, hasCluster, isDry})
      : await completeMove(folder, isDry);
    // Last: the node starts with PostgreSQL from now on.
    if (!report.dry_run) await writeConfig({folder, configText: planned.configText});
    return report;
  } finally {
    await lock.release();
  }
};

const exists = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined)) !== undefined;
const migrated = (path: string): string => `${path}.migrated`;

const planConfig = async (folder: DataFolder, options: Options): Promise<{configText: string; store: StoreSettings}> => {
  const keys = await storeKeys(options);
  await loadConfig(folder.config, process.env);
  const text = await readFile(folder.config, 'utf8');
  const present = valueIn(text, 'store.url');
  if (present !== null && present !== options.storeUrl)
    throw new CommandError(`${folder.config} names another store than --store-url; correct one of them`);
  const configText = withKeys(text, missingKeys(text, keys));
  const store = storeSettings(await readConfig(configText, folder.config, {}));
  if (!store) throw new CommandError('--store-url names no store');
  return {configText, store};
};

interface Target {
  settings: StoreSettings;
  cluster: string;
  hasCluster: boolean;
  isDry: boolean;
}

const moveAll = async (folder: DataFolder, target: Target): Promise<MigrateReport> => {
  if (await findLostCommits(folder.database))
    throw new CommandError(`${folder.database}-wal is damaged; run mfd repair --data ${folder.root} first`);
  const store = await openSqliteStore(folder.database);
  const rows = openStoredRows(folder.database);
  let report: MigrateReport;
  let identity: NodeIdentity;
  try {
    const damage = (await store.findDamage()) ?? (await store.findLogDamage());
    if (damage !== undefined) throw new CommandError(`${folder.database} is damaged (${damage}); run mfd repair first`);
    identity = await readIdentity(store, folder.database);
    const source = {store, rows, spool: await createSpool(folder.spool)};
    const counted = await moveMail(source, undefined);
    const to = await openTarget(target, identity);
    try {
      const is_first = to === undefined || (await requireSameConfig(store, to));
      const records = (await allRecords(store.records)).length;
      const logs = {audit: await rows.countAudit(), events: await rows.countEvents()};
      const planned = {node_id: identity.nodeId, dry_run: true, is_first, records, ...logs, kept: []};
      if (target.isDry || !to) return {...planned, mails: counted};
      await moveConfig(store, to, is_first);
      await moveAudit(rows, to);
      await moveReceived(rows, to);
      report = {...planned, dry_run: false, mails: await moveMail(source, to), kept: keptFiles(folder)};
      await moveEvents(rows, to);
      await moveWebhooks(store, to);
      await noteMigration(to, report);
    } finally {
      await to?.close();
    }
  } finally {
    await rows.close();
    await store.close();
  }
  await setAside(folder, identity);
  return report;
};

/** Undefined for a dry run on an empty database. */
const openTarget = async (
  {settings, cluster, hasCluster, isDry}: Target,
  identity: NodeIdentity,
): Promise<CommonStore | undefined> => {
  if (!hasCluster && isDry) return undefined;
  if (!hasCluster) await createPostgresTables(settings, cluster);
  return openPostgresStore({settings, cluster, ...identity});
};

const noteMigration = async (to: CommonStore, {mails, node_id}: MigrateReport): Promise<void> =>
  to.transaction(async tx => {
    if ((await tx.state.read('migrated')) !== undefined) return;
    const detail = `held ${mails.held}, in Postfix ${mails.postfix}, ended ${mails.ended}`;
    const at = new Date().toISOString();
    await tx.audit.append(nodeEntry({at, action: 'node.migrate', target: node_id, detail}));
    await tx.state.write('migrated', at);
  });

/** The names of the former files say that their content is elsewhere now. It can be repeated when it was interrupted. */
const setAside = async (folder: DataFolder, identity: NodeIdentity): Promise<void> => {
  await writeIdentityFile(folder.identity, identity);
  // The spool after the database, which a repetition would compare with it.
  for (const end of ['-wal', '-shm', ''])
    await rename(`${folder.database}${end}`, `${migrated(folder.database)}${end}`).catch(ignoreMissing);
  // A node with PostgreSQL has a folder for mail in transit where the spool was.
  if (!(await exists(migrated(folder.spool)))) await rename(folder.spool, migrated(folder.spool)).catch(ignoreMissing);
  await syncFolders(folder);
};

const ignoreMissing = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOENT') throw error;
};

const keptFiles = ({database, spool}: DataFolder): string[] => [migrated(database), migrated(spool)];

/** Completes a run that was interrupted before mfd.yaml was written. */
const completeMove = async (folder: DataFolder, isDry: boolean): Promise<MigrateReport> => {
  if (!(await exists(folder.identity)) || !(await exists(migrated(folder.database))))
    throw new CommandError(`${folder.root} holds no node with SQLite`);
  const identity = await readIdentityFile(folder.identity);
  if (!isDry) await setAside(folder, identity);
  const mails = {held: 0, bytes: 0, postfix: 0, ended: 0};
  const logs = {audit: 0, events: 0};
  return {node_id: identity.nodeId, dry_run: isDry, is_first: false, records: 0, ...logs, mails, kept: keptFiles(folder)};
};

const reportText = ({node_id, dry_run, is_first, records, audit, events, mails, kept}: MigrateReport): string => `\
Node ${node_id} ${dry_run ? 'can be moved to PostgreSQL; nothing was written' : 'has its data in PostgreSQL now'}
  configuration  ${records} records${is_first ? ', the first of the cluster' : ', the same as in PostgreSQL'}
  audit log      ${audit} entries
  event log      ${events} entries
  held mail      ${mails.held} with ${mails.bytes} bytes, ${mails.postfix} in Postfix; ended: ${mails.ended}${
    dry_run ? '' : `\nThe former files are not used any more: ${kept.join(', ')}`
  }`;
