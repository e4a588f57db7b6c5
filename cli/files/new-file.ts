import {open, rm} from 'node:fs/promises';
import {dirname} from 'node:path';
import {syncFolder} from '../../shared/sync-folder.ts';
import {writeDurably} from './atomic-file.ts';

export interface NewFile {
  /** Resolves once the text is on stable storage. */
  write(text: string): Promise<void>;
  /** Deletes the file again. */
  abandon(): Promise<void>;
}

/** Creates an empty file, to be written later; rejects with EEXIST when it exists. Mode 0600. */
export const createNewFile = async (file: string): Promise<NewFile> => {
  const handle = await open(file, 'wx', 0o600);
  return {
    async write(text) {
      await writeDurably(handle, text);
      // The text is on disk; a folder that may not be read cannot be synced, which is no failure.
      await syncFolder(dirname(file)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EACCES') throw error;
      });
    },
    async abandon() {
      await handle.close();
      await rm(file, {force: true});
    },
  };
};
