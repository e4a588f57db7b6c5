// Reserve file. On a full disk even a DELETE fails, because the log of the database has to grow. The reserve file is removed
// then, so that an operator can discard mail and free space.
import {open, rm, stat, statfs} from 'node:fs/promises';
import {Fault} from '../../shared/fault.ts';

export interface ReserveFile {
  /** Runs a write that frees space or administers the node; on a full disk it is retried without the reserve file. */
  withReserve<T>(write: () => Promise<T>): Promise<T>;
  /** False while new mail must be refused: the reserve file is deleted or free space is below `minFreeBytes`. */
  hasSpace(): boolean;
  /** Checks the disk again and restores the reserve file once there is space for it. */
  refresh(): Promise<void>;
}

interface Needs {
  path: string;
  sizeBytes: number;
  minFreeBytes: number;
  /** Whether an error of a file or of the store means a full disk. */
  isDiskFull(error: unknown): boolean;
  onFull(): void;
}

/** With less space a database cannot even be opened, so the reserve file is deleted at start. */
const openingBytes = 1024 * 1024;

export const createReserveFile = async ({path, sizeBytes, minFreeBytes, isDiskFull, onFull}: Needs): Promise<ReserveFile> => {
  let isInPlace = false;
  let freeBytes = 0;

  const measure = async () => {
    const {bavail, bsize} = await statfs(path.replace(/[^/]+$/, '.'));
    freeBytes = bavail * bsize;
  };
  const giveUp = async () => {
    isInPlace = false;
    await rm(path, {force: true});
    onFull();
  };
  const refresh = async () => {
    await measure();
    if (!isInPlace && freeBytes > minFreeBytes + 2 * sizeBytes) isInPlace = await fill(path, sizeBytes, isDiskFull);
    await measure();
  };

  isInPlace = (await stat(path).catch(() => undefined))?.size === sizeBytes;
  await refresh();
  if (isInPlace && freeBytes < openingBytes) await giveUp();

  return {
    async withReserve(write) {
      try {
        return await write();
      } catch (error) {
        if (!isDiskFull(error)) throw error;
        await giveUp();
        return await write().catch(again => {
          throw isDiskFull(again) ? fullDisk(again) : again;
        });
      }
    },
    hasSpace: () => isInPlace && freeBytes >= minFreeBytes,
    refresh,
  };
};

const fullDisk = (cause: unknown): Fault =>
  new Fault('unavailable', 'the disk of this node is full; discard mail or free space, then try again', {
    cause,
    retryAfterSeconds: 30,
  });

/** Allocates real blocks, not a hole: the file is written and synced. */
const fill = async (path: string, sizeBytes: number, isDiskFull: Needs['isDiskFull']): Promise<boolean> => {
  const chunk = Buffer.alloc(1024 * 1024, 0xb5);
  const file = await open(path, 'w', 0o600);
  try {
    for (let left = sizeBytes; left > 0; left -= chunk.length) await file.write(chunk, 0, Math.min(left, chunk.length));
    await file.sync();
    return true;
  } catch (error) {
    await rm(path, {force: true});
    if (isDiskFull(error)) return false;
    throw error;
  } finally {
    await file.close();
  }
};
