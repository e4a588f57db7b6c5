// `npm run pictures`: takes the pictures in docs/ from the dashboard of a real cluster, in a real terminal.
import {mkdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {createClosers} from '../../daemon/node/closers.ts';
import {createSampleDomains} from '../demo/sample-domains.ts';
import {sendSample} from '../demo/sample-mail.ts';
import {startCluster} from '../helpers/cluster.ts';
import type {Owner} from '../helpers/daemon.ts';
import {startDnsZone} from '../helpers/dns-zone.ts';
import type {TestNode} from '../helpers/node.ts';
import {startDashboard, type TestTerminal} from '../helpers/terminal.ts';
import {screenPicture} from './svg.ts';

interface Shot {
  name: string;
  title: string;
  columns: number;
  rows: number;
  screen: string;
  /** Keys, and texts that must be on the screen before the next step. */
  steps: readonly ({keys: readonly string[]} | {shows: RegExp})[];
}

const shots: readonly Shot[] = [
  {
    name: 'dashboard-cluster',
    title: 'mfctl dashboard: the cluster',
    columns: 110,
    rows: 30,
    screen: 'cluster',
    steps: [{shows: /gamma/}],
  },
  {
    name: 'dashboard-quarantine',
    title: 'mfctl dashboard: the quarantine, with a preview',
    columns: 140,
    rows: 32,
    screen: 'quarantine',
    steps: [{shows: /Scanned document/}, {keys: ['j', 'Enter']}, {shows: /Symbols/i}],
  },
  {
    name: 'dashboard-domains',
    title: 'mfctl dashboard: a domain',
    columns: 110,
    rows: 30,
    screen: 'domains',
    steps: [{shows: /clinic/}, {keys: ['j', 'Enter']}, {shows: /invoice/}],
  },
  {name: 'dashboard-keys', title: 'mfctl dashboard: keys', columns: 110, rows: 20, screen: 'keys', steps: [{shows: /admin/}]},
];

const take = async (terminal: TestTerminal, {steps}: Shot): Promise<void> => {
  for (const step of steps)
    if ('keys' in step) await terminal.keys(...step.keys);
    else await terminal.shows(step.shows);
};

const trickleMs = 5 * 60_000;

const pause = async (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

const open = async (owner: Owner, node: TestNode, shot: Shot): Promise<TestTerminal> => {
  const {columns, rows, screen} = shot;
  const terminal = await startDashboard(owner, node, ['--screen', screen], {columns, rows});
  await take(terminal, shot);
  return terminal;
};

const develop = async (terminal: TestTerminal, {name, title, columns}: Shot, folder: string): Promise<void> =>
  writeFile(join(folder, `${name}.svg`), screenPicture(await terminal.screen(true), {columns, title}));

const main = async (folder: string): Promise<void> => {
  const closers = createClosers(error => void process.stderr.write(`pictures: ${String(error)}\n`));
  const owner = {teardown: (close: () => unknown) => closers.add(async () => void (await close()))};
  try {
    // The screen of a domain asks DNS, where the domains of the picture are not.
    const {server} = await startDnsZone(owner, {});
    const config = {authentication: {dns_servers: [server]}};
    const {nodes, converged} = await startCluster(owner, {nodes: ['alpha', 'beta', 'gamma'], isProxied: false, config});
    const all = Object.values(nodes);
    await createSampleDomains(all);
    await converged();
    await mkdir(folder, {recursive: true});

    // The first picture shows a history, so its dashboard is open while the mail arrives.
    const [first, ...others] = shots;
    const watching = first && (await open(owner, nodes.alpha, first));
    const end = Date.now() + trickleMs;
    for (let n = 0; Date.now() < end; n += 1) {
      await sendSample(n, all[n % all.length]?.smtpPort ?? 0);
      // Varies the rate over time.
      await pause(300 + 2500 * Math.sin(n / 9) ** 2);
    }

    for (const shot of others) {
      const terminal = await open(owner, nodes.alpha, shot);
      // Values that appear a moment later, such as counts.
      await pause(2000);
      await develop(terminal, shot, folder);
    }
    if (first && watching) await develop(watching, first, folder);
  } finally {
    await closers.closeAll();
  }
};

await main(process.argv[2] ?? 'docs');
