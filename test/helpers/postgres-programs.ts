// Programs of PostgreSQL's server, and the user that they run as.
import {type ChildProcess, execFile, spawn} from 'node:child_process';
import {readdirSync} from 'node:fs';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {isInstalled} from './installed.ts';

const runFile = promisify(execFile);

/** Debian installs every major version in a folder of its own, outside of the PATH. */
const debianFolder = '/usr/lib/postgresql';

const versions = (): string[] => {
  try {
    return readdirSync(debianFolder).toSorted((a, b) => Number(b) - Number(a));
  } catch {
    return [];
  }
};

/** The folder of the newest version; empty for programs in the PATH. */
const programFolder = (): string | undefined => {
  const folder = versions()
    .map(version => join(debianFolder, version, 'bin'))
    .find(bin => isInstalled(join(bin, 'pg_ctl')));
  return folder ?? (isInstalled('pg_ctl') ? '' : undefined);
};

/** The reason why no PostgreSQL can be started here; undefined when one can. */
export const postgresMissing = (): string | undefined =>
  programFolder() !== undefined && isInstalled('setpriv') ? undefined : 'PostgreSQL is not installed';

const isRoot = process.getuid?.() === 0;

/**
 * Starts a program of PostgreSQL, which refuses to run as root. With `setpriv` the child is the program itself, without a process
 * in between. When this process ends without closing anything, the server gets SIGQUIT and ends at once.
 */
export const spawnPostgres = (program: string, args: string[], {cwd, log}: {cwd: string; log: number}): ChildProcess => {
  const user = isRoot ? ['--reuid=postgres', '--regid=postgres', '--init-groups'] : [];
  const command = [...user, '--pdeathsig', 'QUIT', '--', join(programFolder() ?? '', program), ...args];
  return spawn('setpriv', command, {cwd, env: {PATH: process.env.PATH, LC_ALL: 'C'}, stdio: ['ignore', log, log]});
};

/** Makes that user the owner of a file or folder. */
export const giveToPostgres = async (path: string): Promise<void> => {
  if (isRoot) await runFile('chown', ['postgres:postgres', path]);
};
