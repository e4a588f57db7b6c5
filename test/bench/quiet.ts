// CPU time of idle programs: a node of three, and an open dashboard beside them.
import {readFile} from 'node:fs/promises';
import {setTimeout as delay} from 'node:timers/promises';
import {startCluster} from '../helpers/cluster.ts';
import {isTmuxInstalled, startDashboard} from '../helpers/terminal.ts';
import type {Bench} from './bench.ts';

/** The default of a node outside of tests. */
const defaultHeartbeatSeconds = 10;

export const quiet: Bench = {
  name: 'quiet',
  rows: [
    {name: 'idle-node', title: 'a quiet node of three, of one core', anchor: '', wanted: {atMost: 1}, unit: '%'},
    {
      name: 'idle-dashboard',
      title: 'a dashboard beside three quiet nodes, of one core',
      anchor: '',
      wanted: {atMost: 1.5},
      unit: '%',
    },
  ],
  seconds: 150,
  async run({isQuick, owner, isWanted, report}) {
    const seconds = isQuick ? 10 : 60;
    const cluster = await startCluster(owner, {
      isProxied: false,
      config: {log: {level: 'warn'}, cluster: {heartbeat_interval: defaultHeartbeatSeconds}},
    });
    const nodes = Object.values(cluster.nodes);
    await cluster.converged();
    // The measurement begins after V8's optimisations and the first heartbeats.
    await delay(isQuick ? 3000 : 20_000);
    if (isWanted('idle-node')) {
      const shares = await sharesOf(
        nodes.map(({pid}) => pid()),
        seconds,
      );
      const most = Math.max(...shares);
      report('idle-node', {value: most, own: shares.map(percent).join(', ')});
    }
    if (!isWanted('idle-dashboard')) return;
    if (!isTmuxInstalled()) {
      report('idle-dashboard', {missing: 'tmux is not installed'});
      return;
    }
    const shares: Record<string, number> = {};
    for (const screen of ['quarantine', 'cluster']) {
      const terminal = await startDashboard(owner, cluster.nodes.alpha, ['--screen', screen], {columns: 120, rows: 40});
      await delay(isQuick ? 2000 : 5000);
      const [share = Number.NaN] = await sharesOf([await terminal.pid()], seconds);
      shares[screen] = share;
      await terminal.close();
    }
    report('idle-dashboard', {
      value: Math.max(...Object.values(shares)),
      own: Object.entries(shares)
        .map(([name, share]) => `${name} ${percent(share)}`)
        .join(', '),
    });
  },
};

const percent = (share: number): string => `${share.toFixed(2)} %`;

/** CPU time of processes in the next seconds, in percent of one core. */
const sharesOf = async (pids: number[], seconds: number): Promise<number[]> => {
  const before = await Promise.all(pids.map(cpuMs));
  await delay(seconds * 1000);
  const after = await Promise.all(pids.map(cpuMs));
  return after.map((ms, n) => (ms - (before[n] ?? 0)) / (seconds * 10));
};

/** CPU time of a process so far, in milliseconds; USER_HZ is 100 (proc(5)). */
const cpuMs = async (pid: number): Promise<number> => {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
};
