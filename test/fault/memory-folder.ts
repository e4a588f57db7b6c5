// A folder in memory where the system has one: tests that are not about disks do not wait for this machine's disk.
import {existsSync} from 'node:fs';
import type {Owner} from '../helpers/daemon.ts';
import {testFolder} from '../helpers/test-folder.ts';

const memory = '/dev/shm';

export const memoryFolder = async (owner: Owner): Promise<string> => testFolder(owner, existsSync(memory) ? memory : undefined);
