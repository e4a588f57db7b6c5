import {mkdir, stat} from 'node:fs/promises';
import {dirname} from 'node:path';

/**
 * Creates a folder that only its owner may enter, with the folders above it. Resolves with whether it is new. Node's own recursive mkdir
 * never ends where a file system has no such folder and lets nobody create it, as in /proc.
 */
export const makeFolder = async (path: string): Promise<boolean> => {
  let outcome = await tryToMake(path);
  if (outcome === 'no parent' && dirname(path) !== path) {
    await makeFolder(dirname(path));
    outcome = await tryToMake(path);
  }
  if (outcome !== 'no parent') return outcome === 'made';
  throw Object.assign(new Error(`ENOENT: no such file or directory, mkdir '${path}'`), {code: 'ENOENT', syscall: 'mkdir', path});
};

const tryToMake = async (path: string): Promise<'made' | 'there' | 'no parent'> => {
  try {
    await mkdir(path, {mode: 0o700});
    return 'made';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'no parent';
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory()) return 'there';
    throw error;
  }
};
