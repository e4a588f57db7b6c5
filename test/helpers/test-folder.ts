import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Owner} from './daemon.ts';

/** A temporary folder, deleted with its owner. */
export const testFolder = async (owner: Owner, parent = tmpdir()): Promise<string> => {
  const folder = await mkdtemp(join(parent, 'mfd-test-'));
  owner.teardown(async () => rm(folder, {recursive: true, force: true}));
  return folder;
};
