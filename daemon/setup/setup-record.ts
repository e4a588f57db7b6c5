// What `mfd setup postfix --apply` has done, kept beside main.cf so that it can be taken back.
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {z} from 'zod';
import {SetupError} from './setup-error.ts';

const setting = z.strictObject({
  name: z.string(),
  /** Null where there was none. */
  before: z.string().nullable(),
  after: z.string(),
  /** What was added, where `after` is a list. */
  entry: z.string().nullable(),
});

const editedFile = z.strictObject({
  path: z.string(),
  /** The file as it was at first. */
  backup: z.string(),
  /** SHA-256 of the file as it was left; null once somebody else has changed it in between. */
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

/** Undefined when nothing was ever set up, or it was taken back. */
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
