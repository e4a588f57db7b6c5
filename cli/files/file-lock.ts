import {randomUUID} from 'node:crypto';
import {link, readFile, rename, rm, stat, writeFile} from 'node:fs/promises';
import {setTimeout as sleep} from 'node:timers/promises';
import {CliError} from '../errors.ts';

const patienceMs = 15_000;
/** A lock is held for milliseconds: one this old was left by a process that died. */
const staleAfterMs = 5000;

/** Runs `work` while no other process that asks for the same lock file does. */
export const withLock = async <T>(file: string, work: () => Promise<T>): Promise<T> => {
  const token = randomUUID();
  const deadline = Date.now() + patienceMs;
  while (!(await take(file, token))) {
    if (Date.now() > deadline)
      throw new CliError('locked', `another mfctl has been holding ${file} for too long`, {
        hint: `when no other mfctl is running: rm ${file}`,
      });
    await breakStale(file);
    await sleep(5 + Math.random() * 20);
  }
  try {
    return await work();
  } finally {
    // Unless the work took so long that another process holds the lock by now.
    if ((await read(file))?.token === token) await rm(file, {force: true});
  }
};

const take = async (file: string, token: string): Promise<boolean> => {
  try {
    await writeFile(file, token, {flag: 'wx', mode: 0o600});
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};

/**
 * Two processes may find the same stale lock. The rename gives it to one of them; if it turns out to be the other's fresh
 * lock, it is put back.
 */
const breakStale = async (file: string): Promise<void> => {
  const found = await read(file);
  if (!found || Date.now() - found.mtimeMs < staleAfterMs) return;

  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
  } catch {
    return;
  }
  if ((await readFile(aside, 'utf8')) !== found.token) await link(aside, file).catch(() => undefined);
  await rm(aside, {force: true});
};

const read = async (file: string): Promise<{token: string; mtimeMs: number} | undefined> => {
  try {
    const [token, {mtimeMs}] = await Promise.all([readFile(file, 'utf8'), stat(file)]);
    return {token, mtimeMs};
  } catch {
    return undefined;
  }
};
