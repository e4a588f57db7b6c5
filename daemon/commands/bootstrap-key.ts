import {stat} from 'node:fs/promises';
import {loadConfig} from '../config/load.ts';
import {CommandError} from '../node/command-error.ts';
import {type DataFolder, dataFolder} from '../node/data-folder.ts';
import {readIdentity} from '../node/storage.ts';
import {createChange, createConfiguration} from '../replication/configuration.ts';
import {insertKey, isActiveAdmin} from '../services/access/keys.ts';
import type {ConfigStore} from '../services/ports.ts';
import {openSqliteStore} from '../store/sqlite/store.ts';
import {openCommonStore, requireOwnStore} from './store-options.ts';

/** Writes a new full-admin key into the node's store and returns it. A running node finds it at its first use. */
export const bootstrapKey = async (data: string, isForced: boolean): Promise<string> => {
  const folder = dataFolder(data);
  const identity = await stat(folder.identity).catch(() => undefined);
  const found = identity ?? (await stat(folder.database).catch(() => undefined));
  if (!found) throw new CommandError(`${data} holds no node; mfd init --data ${data} makes one`);
  const uid = process.getuid?.();
  if (uid !== 0 && uid !== found.uid) throw new CommandError('only root or the owner of the data directory may do this');

  const {change, close} = await (identity ? openCommon(folder) : openOwn(folder));
  try {
    const created = await change(async tx => {
      const active = (await tx.config.listApiKeys()).filter(key => isActiveAdmin(key, Date.now()));
      if (active.length > 0 && !isForced)
        throw new CommandError(`${active.length} active full-admin key(s) exist; use one of them, or repeat with --force`);
      const wanted = {name: 'bootstrap', scope: 'full-admin', rate_limit_per_minute: 6000} as const;
      return insertKey(tx, {keyId: null, remoteAddress: null}, wanted);
    });
    return created.key;
  } finally {
    await close();
  }
};

interface OpenConfiguration extends Pick<ConfigStore, 'change'> {
  close(): Promise<void>;
}

const openOwn = async ({database}: DataFolder): Promise<OpenConfiguration> => {
  const store = await openSqliteStore(database);
  try {
    const {nodeNo} = await readIdentity(store, database);
    return {...createConfiguration({store, nodeNo, now: Date.now}), close: store.close};
  } catch (error) {
    await store.close();
    throw error;
  }
};

const openCommon = async (folder: DataFolder): Promise<OpenConfiguration> => {
  const settings = await requireOwnStore(folder, await loadConfig(folder.config, process.env));
  if (!settings) throw new CommandError(`${folder.identity} is gone; repeat the command`);
  const {identity, store} = await openCommonStore(folder, settings);
  const publish = async () => store.notify();
  return {
    change: createChange({write: store.changeTransaction, publish, nodeNo: identity.nodeNo, now: Date.now}),
    close: store.close,
  };
};
