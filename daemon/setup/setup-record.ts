// Record of the changes by `mfd setup postfix --apply`, stored beside main.cf for --undo.
import {readFile} from 'node:fs/promises';
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
