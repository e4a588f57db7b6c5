// A system of its own for the Debian package.
import {execFile} from 'node:child_process';
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import type {Owner} from './daemon.ts';
import {eventually} from './eventually.ts';
import {programsMissing, systemPath} from './installed.ts';
import {mayScratch, type ScratchSystem, startScratchSystem} from './scratch-system.ts';
import {testFolder} from './test-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const runFile = promisify(execFile);

const control = await readFile(join(root, 'daemon/deploy/debian/control'), 'utf8');

/** Dependencies of mfd must be installed as packages: dpkg only installs mfd, and downloads nothing. */
const packagesMissing = async (): Promise<string | undefined> => {
  const needed = [...control.matchAll(/^(?:Pre-)?Depends: (.*)$/gm)]
    .flatMap(([, list = '']) => list.split(', '))
    .flatMap(item => /^[a-z][a-z0-9.+-]*/.exec(item)?.[0] ?? []);
  const {stdout} = await runFile('dpkg-query', ['--list'], {maxBuffer: 16 * 1024 * 1024});
  const installed = new Set([...stdout.matchAll(/^.i {2}([^\s:]+)/gm)].map(([, name]) => name));
  const absent = needed.filter(name => !installed.has(name));
  return absent.length === 0 ? undefined : `not installed as packages: ${absent.join(', ')}`;
};

/** Programs beyond those of every Debian: used by the package's own scripts, and by the unit in this test. */
const ownPrograms = ['adduser', 'deluser', 'getent', 'setpriv', 'deb-systemd-helper'];

/** The reason why the package cannot be installed here; undefined when it can. */
export const packageMissing =
  programsMissing(['dpkg', 'dpkg-deb', 'dpkg-query']) ??
  programsMissing(ownPrograms, systemPath) ??
  (mayScratch ? undefined : 'needs root with an overlay') ??
  (await packagesMissing());

/** The package is built first; it is in /mnt of the system, and not installed. */
export const startWithPackage = async (owner: Owner): Promise<{system: ScratchSystem; file: string}> => {
  const folder = await testFolder(owner);
  await runFile(process.execPath, ['--import=tsx', join(root, 'daemon/deploy/debian/deb.ts'), folder], {cwd: root});
  const [file = ''] = await readdir(folder);
  return {system: await startScratchSystem(owner, folder), file};
};

/**
 * Starts the daemon like its unit, as far as a container of tests allows: as its user, without capabilities and without new
 * privileges.
 */
export const startUnit = async (system: ScratchSystem) => {
  const commandLine = await system.insist('sed -n "s/^ExecStart=//p" /usr/lib/systemd/system/mfd.service');
  const asUser = [
    'setpriv',
    '--reuid=mfd',
    '--regid=mfd',
    '--init-groups',
    '--no-new-privs',
    '--inh-caps=-all',
    '--bounding-set=-all',
  ];
  const child = system.spawn([...asUser, ...commandLine.split(' ')], {HOME: '/var/lib/mfd', USER: 'mfd'});
  const ended = new Promise<number | null>(resolve => child.once('close', resolve));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  return {
    ended,
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    ready: async () => eventually(() => /^mfd ready .*$/m.exec(output)?.[0] ?? (child.exitCode !== null && output)),
  };
};
