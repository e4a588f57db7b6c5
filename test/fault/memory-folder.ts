// A folder in memory where there is such a thing: what is not about disks does not wait for the one of this machine.
import {access, mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Owner} from '../helpers/daemon.ts';

const memory = '/dev/shm';

/** Gone with its owner. */
export const memoryFolder = async (owner: Owner): Promise<string> => {
  const parent = await access(memory).then(
    () => memory,
    () => tmpdir(),
  );
  const folder = await mkdtemp(join(parent, 'mfd-fault-'));
  owner.teardown(async () => rm(folder, {recursive: true, force: true}));
  return folder;
};
