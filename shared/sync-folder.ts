import * as fs from 'node:fs';
import {promisify} from 'node:util';

// Each held mail waits for it: a handle of node:fs/promises takes several times as long.
const open = promisify(fs.open);
const fsync = promisify(fs.fsync);

/** Resolves once changes to the names in the folder, such as a rename, are on stable storage. */
export const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await fsync(folder);
  } finally {
    fs.closeSync(folder);
  }
};
