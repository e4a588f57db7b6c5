// The store of a node: the --store options of a command, and what else has to agree with `store.url`.
import {stat} from 'node:fs/promises';
import {resolve} from 'node:path';
import {type LoadedConfig, readText} from '../config/load.ts';
import {type StoreSettings, storeSettings} from '../config/store-settings.ts';
import {storeUrlFault} from '../config/store-url.ts';
import {CommandError, UsageError} from '../node/command-error.ts';
import type {DataFolder} from '../node/data-folder.ts';
import {readClusterFingerprint, readIdentityFile} from '../node/identity-file.ts';
import type {NodeIdentity} from '../services/actor.ts';
import type {CommonStore} from '../services/common-store.ts';
import type {ConfigKey} from '../setup/node-config.ts';
import {addressOf} from '../store/postgres/connection.ts';
import {inspectPostgres} from '../store/postgres/inspect.ts';
import {openPostgresStore} from '../store/postgres/store.ts';

export interface StoreOptions {
  storeUrl?: string | undefined;
  storePasswordFile?: string | undefined;
  storeCaFile?: string | undefined;
}

/** Refuses files for a store without its address. */
export const requireStoreUrl = ({storeUrl, storePasswordFile, storeCaFile}: StoreOptions): void => {
  if (storeUrl !== undefined) return;
  if (storePasswordFile !== undefined) throw new UsageError('--store-password-file needs --store-url');
  if (storeCaFile !== undefined) throw new UsageError('--store-ca-file needs --store-url');
};

/** Keys of mfd.yaml for the options, with absolute paths; none without --store-url. Refuses wrong ones, and files that cannot be read. */
export const storeKeys = async ({storeUrl, storePasswordFile, storeCaFile}: StoreOptions): Promise<ConfigKey[]> => {
  if (storeUrl === undefined) return [];
  const fault = storeUrlFault(storeUrl);
  if (fault !== undefined) throw new UsageError(`--store-url ${fault}`);
  const files: [option: string, key: string, file: string | undefined][] = [
    ['--store-password-file', 'store.password_file', storePasswordFile],
    ['--store-ca-file', 'store.ca_file', storeCaFile],
  ];
  const keys = [{key: 'store.url', value: storeUrl}];
  for (const [option, key, file] of files) {
    if (file === undefined) continue;
    const text = await readText(file, option);
    if (text.trim() === '')
      throw new UsageError(`${option}: ${file} is empty; write what belongs there into it, or leave it out`);
    keys.push({key, value: resolve(file)});
  }
  return keys;
};

/** Refuses a folder whose data is elsewhere than the configuration says. Resolves with the settings of a common store. */
export const requireOwnStore = async (folder: DataFolder, loaded: LoadedConfig): Promise<StoreSettings | undefined> => {
  const settings = storeSettings(loaded);
  const exists = async (path: string) => (await stat(path).catch(() => undefined)) !== undefined;
  if (await exists(folder.identity)) {
    if (settings) return settings;
    throw new CommandError(`${folder.identity} is of a node whose data is in PostgreSQL; set store.url in ${folder.config}`);
  }
  if (settings && (await exists(folder.database)))
    throw new CommandError(
      `${loaded.whereIs('store.url')}: store.url names PostgreSQL, but the mail and the configuration of this node are in ${folder.database}; move them: mfd migrate --data ${folder.root} --store-url URL`,
    );
  return settings;
};

/** The store that all nodes share, as the node in this folder has it. */
export const openCommonStore = async (
  folder: DataFolder,
  settings: StoreSettings,
): Promise<{identity: NodeIdentity; store: CommonStore; address: string}> => {
  const identity = await readIdentityFile(folder.identity);
  const cluster = await readClusterFingerprint(folder.caCert);
  return {identity, store: await openPostgresStore({settings, cluster, ...identity}), address: addressOf(settings)};
};

/** Checks the store as far as that is possible without changing anything; resolves with warnings. */
export const checkStore = async (folder: DataFolder, loaded: LoadedConfig): Promise<string[]> => {
  const settings = await requireOwnStore(folder, loaded);
  if (!settings) return [];
  const isNode = (await stat(folder.identity).catch(() => undefined)) !== undefined;
  const cluster = isNode ? await readClusterFingerprint(folder.caCert) : undefined;
  const {hasCluster, warnings} = await inspectPostgres(settings, cluster);
  if (isNode && !hasCluster)
    throw new CommandError(`the database ${settings.database} is empty, and this node has its data there; restore a backup`);
  return warnings;
};
