// This machine's system as a copy that may be changed: what is written in it goes to memory, is seen by nobody else, and is gone at the
// end. Processes, users and the network are the machine's own.
import {type ChildProcess, spawn, spawnSync} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Owner} from './daemon.ts';
import {eventually} from './eventually.ts';
import {programsMissing, systemPath} from './installed.ts';
import type {Ran} from './program.ts';

export interface ScratchSystem {
  /** Runs a script of `sh -eu` as root; never rejects for an exit status. */
  sh(script: string, ...args: string[]): Promise<Ran>;
  /** The same, and throws for an exit status. Returns what it printed, without the end of the line. */
  insist(script: string, ...args: string[]): Promise<string>;
  /** A process that goes on, with nothing in its environment but this. */
  spawn(command: string[], env: Record<string, string>): ChildProcess;
}

/** `$1` is an empty folder, `$2` a folder that is to be seen as /mnt. */
const setUp = `
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"
mount -t proc proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$1/root/tmp"
mount --bind "$2" "$1/root/mnt"
`;

/** Whether there can be one: root may mount, and the kernel lays one file system over the other. */
export const mayScratch = await (async () => {
  if (programsMissing(['unshare', 'nsenter']) || programsMissing(['chroot'], systemPath)) return false;
  const folder = await mkdtemp(join(tmpdir(), 'mfd-scratch-'));
  const {status} = spawnSync('unshare', ['--mount', 'sh', '-euc', setUp, 'sh', folder, folder], {stdio: 'ignore'});
  await rm(folder, {recursive: true});
  return status === 0;
})();

/** What lies in `shared` is to be found in /mnt. */
export const startScratchSystem = async (owner: Owner, shared: string): Promise<ScratchSystem> => {
  const folder = await mkdtemp(join(tmpdir(), 'mfd-scratch-'));
  // It lives until its standard input ends, and everything that is mounted lives as long.
  const keeper = spawn('unshare', ['--mount', 'sh', '-euc', `${setUp} echo mounted; exec cat`, 'sh', folder, shared], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = new Promise(resolve => keeper.once('close', resolve));
  owner.teardown(async () => {
    keeper.stdin.end();
    await gone;
    await rm(folder, {recursive: true});
  });
  let said = '';
  keeper.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await eventually(() => said === 'mounted\n');

  const start = (command: string[], env: Record<string, string>) =>
    spawn('nsenter', [`--mount=/proc/${keeper.pid}/ns/mnt`, 'chroot', join(folder, 'root'), ...command], {
      env: {PATH: systemPath, ...env},
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const sh: ScratchSystem['sh'] = async (script, ...args) => {
    const env = {HOME: '/root', LC_ALL: 'C.UTF-8', DEBIAN_FRONTEND: 'noninteractive'};
    const child = start(['sh', '-euc', script, 'sh', ...args], env);
    const ran: Ran = {code: 0, stdout: '', stderr: ''};
    child.stdout.on('data', (chunk: Buffer) => {
      ran.stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      ran.stderr += chunk.toString();
    });
    return new Promise(resolve => child.once('close', code => resolve({...ran, code: code ?? 128})));
  };

  return {
    sh,
    async insist(script, ...args) {
      const {code, stdout, stderr} = await sh(script, ...args);
      if (code !== 0) throw new Error(`${script}: exit ${code}: ${stdout}${stderr}`);
      return stdout.trimEnd();
    },
    spawn: start,
  };
};
