import type {CreatedApiKey} from '../../shared/api-key.ts';
import {fileFailure} from './file-failure.ts';
import {createNewFile, type NewFile} from './new-file.ts';

/** Creates the file before the key: a new key must not be lost, and an existing file may hold the only copy of another key. */
export const openKeyFile = async (file: string): Promise<NewFile> =>
  createNewFile(file).catch(error => {
    throw fileFailure(file, error, 'create', 'no key was made; choose another file');
  });

/** The error names the key that was created, as a key that could not be stored has to be revoked. */
export const writeKeyFile = async ({id, key}: CreatedApiKey, kept: NewFile, file: string): Promise<void> => {
  try {
    await kept.write(`${key}\n`);
  } catch (error) {
    throw fileFailure(file, error, 'write', `the value of key ${id} is lost; remove it: mfctl key delete ${id}`);
  }
};
