// A DMARC report of the largest size that receivers send, from the first byte of its mail until the node has stored it.
import {readFile} from 'node:fs/promises';
import {setTimeout as delay} from 'node:timers/promises';
import type {Owner} from '../helpers/daemon.ts';
import {startDnsZone} from '../helpers/dns-zone.ts';
import {relayAll, startMailNode} from '../helpers/mail-node.ts';
import {reportMailOf} from '../helpers/received-report.ts';
import type {Bench} from './bench.ts';
import {quantilesOf} from './quantiles.ts';

const rowCount = 100_000;
const to = 'dmarc@example.com';

export const receivedReports: Bench = {
  name: 'received-reports',
  rows: [
    {name: 'dmarc-report', title: 'a received report of 100,000 rows, p50', anchor: '', wanted: {atMost: 5000}, unit: 'ms'},
    {
      name: 'dmarc-report-memory',
      title: 'memory that it takes in the node and the reader of reports together, the highest of all rounds',
      anchor: '',
      wanted: {atMost: 200},
      unit: 'MiB',
    },
  ],
  seconds: 60,
  async run({isQuick, owner, report}) {
    const rounds: {ms: number; mib: number}[] = [];
    // Each on a fresh node: garbage of the round before is memory as well.
    for (let round = 0; round < (isQuick ? 1 : 3); round += 1) rounds.push(await measure(owner));
    const {p50} = quantilesOf(rounds.map(({ms}) => ms));
    const highest = Math.max(...rounds.map(({mib}) => mib));
    report('dmarc-report', {value: p50, own: `${Math.round(p50)} ms`});
    report('dmarc-report-memory', {value: highest, own: `${Math.round(highest)} MiB`});
  },
};

const measure = async (owner: Owner): Promise<{ms: number; mib: number}> => {
  const {server} = await startDnsZone(owner, {
    'receiver.test': {TXT: ['v=spf1 ip4:127.0.0.1 -all']},
    '_dmarc.receiver.test': {TXT: ['v=DMARC1; p=reject']},
  });
  const config = {
    authentication: {dns_servers: [server]},
    smtp: {trusted_networks: []},
    dmarc: {receive_at: [to]},
  };
  const node = await startMailNode(owner, {domain: relayAll, config});
  const from = 'noreply@receiver.test';
  // Only a sender that is known may send that much.
  await node.send(reportMailOf({id: 'first'}, {to}).toString('latin1'), {to, from});
  const rows = Array.from({length: rowCount}, (_, n) => ({ip: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`}));
  const mail = reportMailOf({rows}, {to}).toString('latin1');
  const before = await memoryMiB(node.pid());

  const memory = watchMemory(node.pid());
  const startedAt = performance.now();
  const {code, text} = await node.send(mail, {to, from});
  const ms = performance.now() - startedAt;

  const mib = (await memory.stop()) - before;
  const {data} = (await node.api('GET', 'dmarc/sources?domain=example.com')).json;
  if (code !== 250 || data.count <= rowCount) throw new Error(`${code} ${text}, ${data.count} mails were stored`);
  await node.stop();
  return {ms, mib};
};

/** The highest memory of the node and of the process that reads the report, together. The one that reads mail runs for any mail. */
const watchMemory = (pid: number) => {
  let highest = 0;
  let isStopped = false;
  const together = async (): Promise<number> => {
    const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean);
    const all = await Promise.all([memoryMiB(pid), ...children.map(async one => memoryOfReader(Number(one)).catch(() => 0))]);
    return all.reduce((sum, mib) => sum + mib, 0);
  };
  const look = async (): Promise<void> => {
    while (!isStopped) {
      highest = Math.max(highest, await together());
      await delay(5);
    }
  };
  const looking = look();
  return {
    async stop(): Promise<number> {
      isStopped = true;
      await looking;
      return highest;
    },
  };
};

/** 0 for a reader of mail. */
const memoryOfReader = async (pid: number): Promise<number> =>
  (await readFile(`/proc/${pid}/cmdline`, 'utf8')).endsWith('\0report\0') ? memoryMiB(pid) : 0;

/** 0 for a process that has ended and is not waited for yet. */
const memoryMiB = async (pid: number): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
};
