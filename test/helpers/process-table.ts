// Processes of this machine, from /proc: not every machine has `ps`.
import {readdir, readFile, readlink} from 'node:fs/promises';

interface Entry {
  pid: number;
  parent: number;
  /** See `/proc/PID/stat` in proc(5): T is stopped by a signal, Z is ended and not yet collected by its parent. */
  state: string;
}

const entryOf = async (pid: string): Promise<Entry | undefined> => {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The second field is a name, which may contain spaces and parentheses.
  const [state, parent] = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
  return state === undefined || state === 'Z' ? undefined : {pid: Number(pid), parent: Number(parent), state};
};

const entries = async (): Promise<Entry[]> => {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name));
  return (await Promise.all(pids.map(entryOf))).filter(entry => entry !== undefined);
};

export const childrenOf = async (pid: number): Promise<number[]> =>
  (await entries()).filter(({parent}) => parent === pid).map(entry => entry.pid);

export const isRunning = async (pid: number): Promise<boolean> => (await entryOf(String(pid))) !== undefined;

/** False also for a process that has ended. */
export const isStopped = async (pid: number): Promise<boolean> => (await entryOf(String(pid)))?.state === 'T';

/** The TCP ports on which a process listens, in ascending order. See proc(5), `/proc/net/tcp`. */
export const listeningPorts = async (pid: number): Promise<number[]> => {
  const files = await readdir(`/proc/${pid}/fd`);
  const links = await Promise.all(files.map(async fd => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
  const sockets = new Set(links);
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map(async name => readFile(`/proc/${pid}/net/${name}`, 'utf8').catch(() => '')),
  );
  const ports = tables.flatMap(table =>
    table.split('\n').flatMap(line => {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/ +/);
      return state === '0A' && sockets.has(`socket:[${inode}]`) ? [Number.parseInt(local.split(':')[1] ?? '', 16)] : [];
    }),
  );
  return ports.toSorted((one, other) => one - other);
};
