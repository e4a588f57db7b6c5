// Wall clocks of processes, set by a test while they run. Timers use another clock, which stays correct.
import {existsSync, readdirSync} from 'node:fs';
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Owner} from './daemon.ts';
import {testFolder} from './test-folder.ts';

export interface WallClocks<Name extends string> {
  /** The environment with which a process gets the clock of that name. */
  env: Record<Name, Record<string, string>>;
  /**
   * Seconds by which clocks are ahead from now on, in effect within a second; resolves with the number of clocks that have moved.
   */
  set(ahead: Partial<Record<Name, number>>): Promise<number>;
}

const libraries = '/usr/lib';
const findLibrary = (): string | undefined => {
  const folders = existsSync(libraries) ? readdirSync(libraries) : [];
  return folders.map(name => join(libraries, name, 'faketime', 'libfaketime.so.1')).find(file => existsSync(file));
};

/** The reason why such clocks are impossible here; undefined where they are possible. */
export const wallClocksMissing: string | undefined = findLibrary() === undefined ? 'faketime is not installed' : undefined;

export const startWallClocks = async <Name extends string>(owner: Owner, names: readonly Name[]): Promise<WallClocks<Name>> => {
  const folder = await testFolder(owner);
  // A file for each clock; every process that asks for the time reads its file again each second.
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
    // Only the wall clock is set; the monotonic one never jumps.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  });
  const env = Object.fromEntries(names.map(name => [name, envOf(name)])) as Record<string, Record<string, string>>;
  return {set, env: env as WallClocks<Name>['env']};
};
