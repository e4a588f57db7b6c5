// A changeable copy of this machine's file system: writes go to memory, are invisible to others, and are gone at the end.
// Processes, users and the network are the machine's own.
import {type ChildProcess, spawn, spawnSync} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Owner} from './daemon.ts';
import {eventually} from './eventually.ts';
import {programsMissing, systemPath} from './installed.ts';
import type {Ran} from './program.ts';

export interface ScratchSystem {
  /** Runs a script of `sh -eu` as root; an exit status other than 0 does not reject. */
  sh(script: string, ...args: string[]): Promise<Ran>;
  /** The same, but throws for an exit status other than 0. Returns the output without the last line end. */
  insist(script: string, ...args: string[]): Promise<string>;
  /** A process that keeps running, with nothing in its environment but this. */
  spawn(command: string[], env: Record<string, string>): ChildProcess;
}

/** `$1` is an empty folder, `$2` a folder that is mounted at /mnt. */
const setUp = `
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"
mount -t proc proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$1/root/tmp"
mount --bind "$2" "$1/root/mnt"
`;

/** Whether such a copy is possible: root may mount, and the kernel has overlay file systems. */
export const mayScratch = await (async () => {
  if (programsMissing(['unshare', 'nsenter']) || programsMissing(['chroot'], systemPath)) return false;
  const folder = await mkdtemp(join(tmpdir(), 'mfd-scratch-'));
  const {status} = spawnSync('unshare', ['--mount', 'sh', '-euc', setUp, 'sh', folder, folder], {stdio: 'ignore'});
  await rm(folder, {recursive: true});
  return status === 0;
})();

/** The content of `shared` is available in /mnt. */
export const startScratchSystem = async (owner: Owner, shared: string): Promise<ScratchSystem> => {
  const folder = await mkdtemp(join(tmpdir(), 'mfd-scratch-'));
  // It runs until its standard input ends; everything mounted exists until then.
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
