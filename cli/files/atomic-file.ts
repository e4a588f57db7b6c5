import {randomUUID} from 'node:crypto';
import {open, realpath, rename, rm} from 'node:fs/promises';
import {dirname} from 'node:path';

/** Readers see the old text or the new one, also after a power cut. A symbolic link is kept. Mode 0600. */
export const writeAtomically = async (file: string, text: string): Promise<void> => {
  const target = await realpath(file).catch(() => file);
  const temporary = `${target}.${randomUUID()}.tmp`;
  try {
    await writeDurably(temporary, text);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, {force: true});
    throw error;
  }
  await syncFolder(dirname(target));
};

const writeDurably = async (file: string, text: string): Promise<void> => {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** A rename is durable only once its folder is. */
export const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};
