// The processes of a PostgreSQL server: the first one and its children.
import {once} from 'node:events';
import {open, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {eventually} from './eventually.ts';
import {spawnPostgres} from './postgres-programs.ts';
import {childrenOf, isRunning, isStopped} from './process-table.ts';

const stopSignals = {smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT'} as const;

export interface PostgresProcess {
  isRunning(): boolean;
  /** Starts it again, on the same port and with the same data. */
  start(): Promise<void>;
  /** `fast` ends connections and then writes a checkpoint; `immediate` leaves the recovery to the next start. */
  stop(mode?: keyof typeof stopSignals): Promise<void>;
  /** Kills all processes with SIGKILL. */
  kill(): Promise<void>;
  /** Stops all processes with SIGSTOP: the kernel still accepts connections, and nothing is answered. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

interface Files {
  folder: string;
  dataFolder: string;
  logFile: string;
}

export const createPostgresProcess = ({folder, dataFolder, logFile}: Files): PostgresProcess => {
  let running: {pid: number; ended: Promise<unknown>} | undefined;

  return {
    isRunning: () => running !== undefined,
    async start() {
      if (running) throw new Error('PostgreSQL is running');
      const log = await open(logFile, 'a');
      const child = spawnPostgres('postgres', ['-D', dataFolder], {cwd: folder, log: log.fd});
      await log.close();
      const ended = once(child, 'exit').finally(() => (running = undefined));
      running = {pid: child.pid ?? 0, ended};
      await eventually(async () => {
        if (!running) throw new Error(`PostgreSQL did not start: ${await readFile(logFile, 'utf8')}`);
        return isReady(dataFolder, running.pid);
      });
    },
    async stop(mode = 'fast') {
      if (!running) return;
      const {pid, ended} = running;
      signal(pid, stopSignals[mode]);
      await ended;
    },
    async kill() {
      if (!running) return;
      const {pid, ended} = running;
      // A stopped process has no more children.
      await suspend(pid);
      const pids = [pid, ...(await childrenOf(pid))];
      for (const each of pids) signal(each, 'SIGKILL');
      await ended;
      await eventually(async () => !(await Promise.all(pids.map(isRunning))).includes(true));
    },
    async freeze() {
      if (!running) throw new Error('PostgreSQL is not running');
      const {pid} = running;
      await suspend(pid);
      await Promise.all((await childrenOf(pid)).map(suspend));
    },
    async thaw() {
      if (!running) return;
      for (const each of [...(await childrenOf(running.pid)), running.pid]) signal(each, 'SIGCONT');
    },
  };
};

/** The first line of this file is a process id, which is an old one after a kill; the eighth is the state. A standby is ready for queries once it has caught up. */
const isReady = async (dataFolder: string, pid: number): Promise<boolean> => {
  const text = await readFile(join(dataFolder, 'postmaster.pid'), 'utf8').catch(() => '');
  const fields = text.split('\n');
  return fields[0] === String(pid) && ['ready', 'standby'].includes(fields[7]?.trim() ?? '');
};

/** Resolves once it has stopped, or ended. */
const suspend = async (pid: number): Promise<void> => {
  signal(pid, 'SIGSTOP');
  await eventually(async () => (await isStopped(pid)) || !(await isRunning(pid)));
};

/** A process that has ended meanwhile needs no signal. */
const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};
