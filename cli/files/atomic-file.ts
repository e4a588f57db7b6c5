import {randomUUID} from 'node:crypto';
import {type FileHandle, open, realpath, rename, rm} from 'node:fs/promises';
import {dirname} from 'node:path';
import {syncFolder} from '../../shared/sync-folder.ts';

/** Readers see the old text or the new one, also after a power cut. A symbolic link is kept. Mode 0600. */
export const writeAtomically = async (file: string, text: string): Promise<void> => {
  const target = await realpath(file).catch(() => file);
  const temporary = `${target}.${randomUUID()}.tmp`;
  try {
    await writeDurably(await open(temporary, 'wx', 0o600), text);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, {force: true});
    throw error;
  }
  await syncFolder(dirname(target));
};

/** Resolves once the text is on stable storage, and closes the file in any case. */
export const writeDurably = async (handle: FileHandle, text: string): Promise<void> => {
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
};
