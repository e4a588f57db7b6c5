// A disk whose power can be cut: ext4 on a loop device, shut down underneath. Data that was not synced is gone, as after a real
// cut.
import {execFile} from 'node:child_process';
import {access, mkdtemp, rm, rmdir} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';
import type {Owner} from '../helpers/daemon.ts';
import {eventually} from '../helpers/eventually.ts';

const run = promisify(execFile);

export interface PoweredDisk {
  path: string;
  /** From here on nothing reaches the disk, and unsynced data never does: neither data nor the journal is flushed. */
  cut(): Promise<void>;
  /** No file may be open on it any more. */
  powerOn(): Promise<void>;
}

/** EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH, see fs/ext4/ioctl.c. */
const shutDown = `open(my $folder, '<', $ARGV[0]) or die $!; my $flags = pack('L', 2); defined(ioctl($folder, 0x8004587d, $flags)) or die $!`;

/** The image is in memory where the system has a folder for that: the test checks what was synced, not how fast. */
const imageFolder = async (): Promise<string> => access('/dev/shm').then(() => '/dev/shm', tmpdir);

export const startPoweredDisk = async (owner: Owner, megabytes: number): Promise<PoweredDisk> => {
  const path = await mkdtemp(join(tmpdir(), 'mfd-power-'));
  const image = join(await imageFolder(), `${path.split('/').at(-1)}.img`);
  await run('truncate', ['-s', `${megabytes}M`, image]);
  owner.teardown(async () => {
    await rmdir(path);
    await rm(image);
  });
  await run('mkfs.ext4', ['-q', '-F', image]);
  const powerOn = async () => void (await run('mount', ['-o', 'loop', image, path]));
  await powerOn();
  owner.teardown(async () => void (await run('umount', [path])));

  return {
    path,
    cut: async () => void (await run('perl', ['-e', shutDown, path])),
    async powerOn() {
      // A process that scans /tmp keeps it busy for a moment.
      await eventually(async () => run('umount', [path]).catch(() => undefined));
      await powerOn();
    },
  };
};

/** The reason why such a disk is impossible here; undefined where it is possible. */
export const poweredDiskMissing = async (): Promise<string | undefined> => {
  const teardowns: (() => Promise<void> | void)[] = [];
  try {
    const disk = await startPoweredDisk({teardown: close => void teardowns.push(close)}, 16);
    await disk.cut();
    return undefined;
  } catch (error) {
    return `no ext4 on a loop device can be mounted and shut down here: ${error instanceof Error ? error.message.trim() : error}`;
  } finally {
    for (const close of teardowns.reverse()) await Promise.resolve(close()).catch(() => {});
  }
};
