// Wall clocks of processes, set by a test while they run. Timers go by another clock, which stays right.
import {existsSync, readdirSync} from 'node:fs';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Owner} from './daemon.ts';

export interface WallClocks<Name extends string> {
  /** What a process is started with to have the clock of that name. */
  env: Record<Name, Record<string, string>>;
  /** Seconds by which clocks are ahead from now on, seen within a second; resolves with how many of them have moved. */
  set(ahead: Partial<Record<Name, number>>): Promise<number>;
}

const libraries = '/usr/lib';
const findLibrary = (): string | undefined => {
  const folders = existsSync(libraries) ? readdirSync(libraries) : [];
  return folders.map(name => join(libraries, name, 'faketime', 'libfaketime.so.1')).find(file => existsSync(file));
};

/** Why there can be none here; undefined where there can be. */
export const wallClocksMissing: string | undefined = findLibrary() === undefined ? 'faketime is not installed' : undefined;

export const startWallClocks = async <Name extends string>(owner: Owner, names: readonly Name[]): Promise<WallClocks<Name>> => {
  const folder = await mkdtemp(join(tmpdir(), 'mfd-clocks-'));
  owner.teardown(async () => rm(folder, {recursive: true}));
  // A file for each, read again every second by whatever asks for the time.
  const fileOf = (name: string) => join(folder, name);
  const current = new Map<string, number>();
  const set = async (ahead: Partial<Record<Name, number>>): Promise<number> => {
    const moved = (Object.entries(ahead) as [Name, number][]).filter(([name, seconds]) => current.get(name) !== seconds);
    for (const [name, seconds] of moved) {
      await writeFile(fileOf(name), `${seconds < 0 ? '' : '+'}${seconds}s\n`);
      current.set(name, seconds);
    }
    return moved.length;
  };
  await set(Object.fromEntries(names.map(name => [name, 0])) as Record<Name, number>);

  const envOf = (name: Name) => ({
    LD_PRELOAD: findLibrary() ?? '',
    FAKETIME_TIMESTAMP_FILE: fileOf(name),
    FAKETIME_CACHE_DURATION: '1',
    // A clock that somebody sets is the wall clock; the other one never jumps.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  });
  const env = Object.fromEntries(names.map(name => [name, envOf(name)])) as Record<string, Record<string, string>>;
  return {set, env: env as WallClocks<Name>['env']};
};
