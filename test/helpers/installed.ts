// Programs that not every machine has. A test that runs one asks for it first, and is skipped by name where it is missing
// (test/installed.test.ts checks that).
import {spawnSync} from 'node:child_process';

/** The folders of the system's own programs, independent of the caller's PATH. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** `program` is a path, or a name to look for in `path`: by default the PATH with which a test would run it. */
export const isInstalled = (program: string, path = process.env.PATH): boolean =>
  spawnSync('/bin/sh', ['-c', 'command -v "$1"', 'sh', program], {stdio: 'ignore', env: {PATH: path}}).status === 0;

/** The reason why a test that runs these programs is skipped here; undefined where all of them are installed. */
export const programsMissing = (programs: readonly string[], path?: string): string | undefined => {
  const missing = programs.filter(program => !isInstalled(program, path));
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`;
};
