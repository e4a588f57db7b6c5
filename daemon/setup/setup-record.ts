// Record of the changes by `mfd setup postfix --apply`, stored beside main.cf for --undo.

import {createHash} from 'node:crypto';
import {constants} from 'node:fs';
import {chmod, chown, copyFile, readFile, realpath, rename, stat, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {z} from 'zod';
import {SetupError} from './setup-error.ts';

const setting = z.strictObject({
  name: z.string(),
  /** Null when the setting was absent. */
  before: z.string().nullable(),
  after: z.string(),
  /** The added entry, when `after` is a list. */
  entry: z.string().nullable(),
});

const editedFile = z.strictObject({
  path: z.string(),
  /** The copy of the original file. */
  backup: z.string(),
  /** SHA-256 of the file after the last run; null once somebody else has changed the file between runs. */
  hash: z.string().nullable(),
  settings: z.array(setting),
});

const record = z.strictObject({
  data: z.string(),
  main: editedFile.nullable(),
  master: editedFile.nullable(),
  /** mfd.yaml; the names are keys such as `postfix.config_dir`. */
  node: editedFile.nullable(),
  created: z.array(z.strictObject({path: z.string(), hash: z.string()})),
  /** The folder for the sockets. */
  folder: z.string().nullable(),
});

export type Setting = z.infer<typeof setting>;
export type EditedFile = z.infer<typeof editedFile>;
export type SetupRecord = z.infer<typeof record>;

export const recordPath = (configDir: string): string => join(configDir, 'mfd-setup.json');

/** Undefined when nothing was set up, or the setup was undone. */
export const readRecord = async (configDir: string): Promise<SetupRecord | undefined> => {
  const path = recordPath(configDir);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return record.parse(JSON.parse(text));
  } catch (error) {
    throw new SetupError(`${path} is damaged; restore what it is about from the copies *.before-mfd, and remove it`, {
      cause: error,
    });
  }
};

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
