// Damage that a disk, or a person who copies files, does to a data directory that no process has open.
import {readdir, readFile, rename, stat, truncate, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Random} from './random.ts';

const targets = ['wal', 'wal', 'wal', 'database', 'database', 'database', 'spool', 'spool'] as const;
export type Target = (typeof targets)[number];

const pageBytes = 4096;

/** Damages one file; resolves with a description of the damage. */
export const damage = async (data: string, random: Random): Promise<{target: Target; what: string}> => {
  const target = random.pick(targets);
  const held = join(data, 'spool', 'held');
  const path =
    target === 'spool'
      ? join(held, random.pick((await readdir(held)).sort()))
      : join(data, target === 'wal' ? 'mfd.db-wal' : 'mfd.db');
  // A node that was stopped leaves no log behind.
  const {size} = await stat(path).catch(() => ({size: 0}));
  if (size === 0) return damage(data, random);
  return {
    target,
    what: `${target === 'spool' ? path.split('/').at(-1) : target}: ${await change(path, size, {random, held: target === 'spool' ? held : undefined})}`,
  };
};

const change = async (
  path: string,
  size: number,
  {random, held}: {random: Random; held: string | undefined},
): Promise<string> => {
  const kind = random.next();
  if (kind < 0.6) return flip(path, size, random);
  if (kind < 0.75) {
    const left = random.between(0, size - 1);
    await truncate(path, left);
    return `cut from ${size} to ${left} bytes`;
  }
  if (kind < 0.9 || (held === undefined && size < 2 * pageBytes)) {
    const at = Math.floor(random.between(0, size - 1) / pageBytes) * pageBytes;
    const bytes = await readFile(path);
    bytes.fill(0, at, Math.min(at + pageBytes, size));
    await writeFile(path, bytes);
    return `page at ${at} of zeros`;
  }
  return held === undefined ? swapPages(path, size, random) : swapFiles(path, held, random);
};

const flip = async (path: string, size: number, random: Random): Promise<string> => {
  const bytes = await readFile(path);
  const bits = Array.from({length: random.pick([1, 1, 1, 2, 5])}, () => random.between(0, size * 8 - 1));
  for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  await writeFile(path, bytes);
  return `bits ${bits.map(bit => `${bit >> 3}.${bit & 7}`).join(' ')} flipped`;
};

const swapPages = async (path: string, size: number, random: Random): Promise<string> => {
  const bytes = await readFile(path);
  const [a, b] = [0, 0].map(() => random.between(0, Math.floor(size / pageBytes) - 1) * pageBytes) as [number, number];
  const page = Buffer.from(bytes.subarray(a, a + pageBytes));
  bytes.copy(bytes, a, b, b + pageBytes);
  page.copy(bytes, b);
  await writeFile(path, bytes);
  return `pages at ${a} and ${b} swapped`;
};

const swapFiles = async (path: string, held: string, random: Random): Promise<string> => {
  const other = join(held, random.pick((await readdir(held)).sort()));
  await rename(path, `${path}.away`);
  if (`${path}.away` === `${other}.away`) {
    await rename(`${path}.away`, path);
    return 'left alone';
  }
  await rename(other, path);
  await rename(`${path}.away`, other);
  return `swapped with ${other.split('/').at(-1)}`;
};
