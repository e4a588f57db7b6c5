// Work in the data directory with its owner's rights: a package creates the directory for a user of its own, and root creates the node.
import {stat} from 'node:fs/promises';
import {loadDriver} from '../store/sqlite/database.ts';

/**
 * When root calls, runs `work` with the rights of the folder's owner: the owner can read the files that it writes, and a link that
 * the owner has placed there gives no access to files of others.
 */
export const asOwnerOf = async <T>(folder: string, work: () => Promise<T>): Promise<T> => {
  const owner = process.geteuid?.() === 0 ? await stat(folder).catch(() => undefined) : undefined;
  if (!owner || owner.uid === 0) return work();
  // Loaded first, as the owner may have no access to the folder of the program.
  await loadDriver();
  const groups = process.getgroups?.() ?? [];
  // Groups are set first, as only root may change them.
  process.setgroups?.([owner.gid]);
  process.setegid?.(owner.gid);
  process.seteuid?.(owner.uid);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
    process.setgroups?.(groups);
  }
};
