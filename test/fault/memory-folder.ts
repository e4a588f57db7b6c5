// A folder in memory where the system has one: tests that are not about disks do not wait for this machine's disk.
import {access, mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Owner} from '../helpers/daemon.ts';

const memory = '/dev/shm';

/** The folder is deleted with its owner. */
export const memoryFolder = async (owner: Owner): Promise<string> => {
  const parent = await access(memory).then(
    () => memory,
    () => tmpdir(),
  );
  const folder = await mkdtemp(join(parent, 'mfd-fault-'));
  owner.teardown(async () => rm(folder, {recursive: true, force: true}));
  return folder;
};
