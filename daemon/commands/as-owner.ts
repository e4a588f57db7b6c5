// A package makes the data directory for a user of its own, and root makes the node in it.
import {stat} from 'node:fs/promises';
import {loadDriver} from '../store/sqlite/database.ts';

/**
 * Does `work` with the rights of whoever owns the folder, where root may choose: what it writes there is theirs to read later, and what
 * they have put there, such as a link, gets at nothing that is not theirs.
 */
export const asOwnerOf = async <T>(folder: string, work: () => Promise<T>): Promise<T> => {
  const owner = process.geteuid?.() === 0 ? await stat(folder).catch(() => undefined) : undefined;
  if (!owner || owner.uid === 0) return work();
  // The program may lie where the owner may not look.
  await loadDriver();
  const groups = process.getgroups?.() ?? [];
  // The groups first: only root may change them.
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
