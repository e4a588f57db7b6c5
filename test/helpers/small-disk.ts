// A small disk: a tmpfs of its own, where the tests may mount one.
import {execFile} from 'node:child_process';
import {statfsSync} from 'node:fs';
import {mkdtemp, open, rm, rmdir} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';
import type {Teardown} from './store.ts';

const run = promisify(execFile);

export interface SmallDisk {
  path: string;
  freeBytes(): number;
  /** Fills the disk, leaving `leaveBytes` free. */
  fill(leaveBytes?: number): Promise<void>;
  /** Frees the space that `fill` took. */
  clear(): Promise<void>;
}

const mountDisk = async (path: string, sizeBytes: number) =>
  run('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'tmpfs', path]);

/** Whether this machine allows the tests to mount a file system. */
export const mayMount = await (async () => {
  const path = await mkdtemp(join(tmpdir(), 'mfd-disk-'));
  try {
    await mountDisk(path, 65_536);
    await run('umount', [path]);
    return true;
  } catch {
    return false;
  } finally {
    await rmdir(path);
  }
})();

export const smallDisk = async (t: Teardown, sizeBytes: number): Promise<SmallDisk> => {
  const path = await mkdtemp(join(tmpdir(), 'mfd-disk-'));
  await mountDisk(path, sizeBytes);
  t.teardown(async () => {
    await run('umount', ['--lazy', path]);
    await rmdir(path);
  });
  const filler = join(path, 'filler');
  const freeBytes = () => {
    const {bavail, bsize} = statfsSync(path);
    return bavail * bsize;
  };

  return {
    path,
    freeBytes,
    async fill(leaveBytes = 0) {
      const file = await open(filler, 'a');
      try {
        for (let left = freeBytes() - leaveBytes; left > 0; left = freeBytes() - leaveBytes)
          await file.write(Buffer.alloc(Math.min(left, 65_536), 0x5a));
      } catch (error) {
        // Others have used up the room meanwhile.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        await file.close();
      }
    },
    clear: async () => rm(filler, {force: true}),
  };
};
