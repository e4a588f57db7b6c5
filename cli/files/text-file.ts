// Small files of mfctl: checked reads, atomic writes, and what is wrong with a file.

import {randomUUID} from 'node:crypto';
import {type FileHandle, open, realpath, rename, rm} from 'node:fs/promises';
import {dirname} from 'node:path';
import type {CreatedApiKey} from '../../shared/api-key.ts';
import {syncFolder} from '../../shared/sync-folder.ts';
import {fileReason} from '../../shared/system-error.ts';
import {CliError} from '../errors.ts';

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
const writeDurably = async (handle: FileHandle, text: string): Promise<void> => {
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
};

export const fileFailure = (file: string, error: unknown, doing: string, hint?: string): CliError =>
  new CliError('file_failed', `cannot ${doing} ${file}: ${fileReason(error)}`, {cause: error, hint});

export type Path = readonly (string | number)[];
/** Records a fault of the value at a path. */
export type ReportFault = (path: Path, detail: string) => void;

export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const reportUnknownMembers = (value: object, known: readonly string[], path: Path, reportFault: ReportFault): void => {
  for (const name of Object.keys(value))
    if (!known.includes(name)) reportFault([...path, name], `is not known here; known are ${known.join(', ')}`);
};

export interface KeyFile {
  /** Resolves once the key is on stable storage. The error names the key, as one that could not be stored has to be revoked. */
  write(created: CreatedApiKey): Promise<void>;
  /** Deletes the file again. */
  abandon(): Promise<void>;
}

/** Creates the file before the key: a new key must not be lost, and an existing file may hold the only copy of another key. Mode 0600. */
export const openKeyFile = async (file: string): Promise<KeyFile> => {
  const handle = await open(file, 'wx', 0o600).catch(error => {
    throw fileFailure(file, error, 'create', 'no key was made; choose another file');
  });
  return {
    async write({id, key}) {
      try {
        await writeDurably(handle, `${key}\n`);
        // The text is on disk; a folder that may not be read cannot be synced, which is not a failure.
        await syncFolder(dirname(file)).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EACCES') throw error;
        });
      } catch (error) {
        throw fileFailure(file, error, 'write', `the value of key ${id} is lost; remove it: mfctl key delete ${id}`);
      }
    },
    async abandon() {
      await handle.close();
      await rm(file, {force: true});
    },
  };
};
