// Changes to an administrator's files: each replaces the whole file atomically, and a copy of the old file is kept.
import {createHash} from 'node:crypto';
import {constants} from 'node:fs';
import {chmod, chown, copyFile, readFile, realpath, rename, stat, writeFile} from 'node:fs/promises';

export const hashOf = async (path: string): Promise<string | undefined> => {
  const bytes = await bytesOf(path);
  return bytes && hashOfText(bytes);
};

export const hashOfText = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

/** Undefined when there is no such file. */
export const bytesOf = async (path: string): Promise<Buffer | undefined> =>
  readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });

export const isThere = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined)) !== undefined;

/** Keeps owner and mode, and a symbolic link to the file. */
export const replaceFile = async (path: string, content: Buffer | string): Promise<void> => {
  const target = await realpath(path);
  const {uid, gid, mode} = await stat(target);
  const temporary = `${target}.mfd-new`;
  await writeFile(temporary, content, {mode: 0o600});
  await chown(temporary, uid, gid);
  await chmod(temporary, mode & 0o7777);
  await rename(temporary, target);
};

/** Replaces an existing file. */
export const createFile = async (path: string, content: string, mode: number): Promise<void> => {
  const temporary = `${path}.mfd-new`;
  await writeFile(temporary, content, {mode: 0o600});
  await chmod(temporary, mode);
  await rename(temporary, path);
};

/** Copies to `PATH.SUFFIX`, or to `PATH.SUFFIX.1` and so on when that exists, so older copies stay. Returns the name. */
export const backUp = async (path: string, suffix: string): Promise<string> => {
  for (let n = 0; ; n += 1) {
    const copy = `${path}.${suffix}${n === 0 ? '' : `.${n}`}`;
    try {
      await copyFile(path, copy, constants.COPYFILE_EXCL);
      const {uid, gid, mode} = await stat(path);
      await chown(copy, uid, gid);
      await chmod(copy, mode & 0o7777);
      return copy;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
};
