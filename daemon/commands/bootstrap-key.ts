import {stat} from 'node:fs/promises';
import {CommandError} from '../node/command-error.ts';
import {dataFolder} from '../node/data-folder.ts';
import {readIdentity} from '../node/storage.ts';
import {createConfiguration} from '../replication/configuration.ts';
import {insertKey, isActiveAdmin} from '../services/access/keys.ts';
import {openSqliteStore} from '../store/sqlite/store.ts';

/** Writes a new full-admin key into the node's database and returns it. A running node finds it at its first use. */
export const bootstrapKey = async (data: string, isForced: boolean): Promise<string> => {
  const folder = dataFolder(data);
  const found = await stat(folder.database).catch(() => undefined);
  if (!found) throw new CommandError(`${data} holds no node; mfd init --data ${data} makes one`);
  const uid = process.getuid?.();
  if (uid !== 0 && uid !== found.uid) throw new CommandError('only root or the owner of the data directory may do this');

  const store = await openSqliteStore(folder.database);
  try {
    const {nodeNo} = await readIdentity(store, folder.database);
    const configuration = createConfiguration({store, nodeNo, now: Date.now});
    const created = await configuration.change(async tx => {
      const active = (await tx.config.listApiKeys()).filter(key => isActiveAdmin(key, Date.now()));
      if (active.length > 0 && !isForced)
        throw new CommandError(`${active.length} active full-admin key(s) exist; use one of them, or repeat with --force`);
      const wanted = {name: 'bootstrap', scope: 'full-admin', rate_limit_per_minute: 6000} as const;
      return insertKey(tx, {keyId: null, remoteAddress: null}, wanted, undefined);
    });
    return created.key;
  } finally {
    await store.close();
  }
};
