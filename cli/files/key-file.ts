import type {CreatedApiKey} from '../../shared/api-key.ts';
import {fileFailure} from './file-failure.ts';
import {createNewFile, type NewFile} from './new-file.ts';

/** A file for a key that is yet to be made: without one it would be lost, and one that is there may be somebody's only copy. */
export const openKeyFile = async (file: string): Promise<NewFile> =>
  createNewFile(file).catch(error => {
    throw fileFailure(file, error, 'create', 'no key was made; choose another file');
  });

/** A key that could not be kept is of no use to anyone, and what was made must not be lost track of. */
export const writeKeyFile = async ({id, key}: CreatedApiKey, kept: NewFile, file: string): Promise<void> => {
  try {
    await kept.write(`${key}\n`);
  } catch (error) {
    throw fileFailure(file, error, 'write', `the value of key ${id} is lost; remove it: mfctl key delete ${id}`);
  }
};
