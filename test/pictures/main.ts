// `npm run pictures`: takes the pictures of the README from the dashboard of a real cluster, in a real terminal.
import {mkdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {createClosers} from '../../daemon/closers.ts';
import {createSampleDomains} from '../demo/sample-domains.ts';
import {sampleCount, sendSample} from '../demo/sample-mail.ts';
import {startCluster} from '../helpers/cluster.ts';
import {startDashboard, type TestTerminal} from '../helpers/terminal.ts';
import {screenPicture} from './svg.ts';

interface Shot {
  name: string;
  title: string;
  columns: number;
  rows: number;
  screen: string;
  /** Keys, and texts that have to be on the screen before the next one. */
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

const main = async (folder: string): Promise<void> => {
  const closers = createClosers(error => void process.stderr.write(`pictures: ${String(error)}\n`));
  const owner = {teardown: (close: () => unknown) => closers.add(async () => void (await close()))};
  try {
    const {nodes, converged} = await startCluster(owner, {nodes: ['alpha', 'beta', 'gamma'], isProxied: false});
    const all = Object.values(nodes);
    await createSampleDomains(all);
    await converged();
    for (let n = 0; n < 4 * sampleCount; n += 1) await sendSample(n, all[n % all.length]?.smtpPort ?? 0);

    await mkdir(folder, {recursive: true});
    for (const shot of shots) {
      const {name, title, columns, rows, screen} = shot;
      const terminal = await startDashboard(owner, nodes.alpha, ['--screen', screen], {columns, rows});
      await take(terminal, shot);
      // What comes a moment later, such as the licence and a sparkline.
      await new Promise(resolve => setTimeout(resolve, 2000));
      await writeFile(join(folder, `${name}.svg`), screenPicture(await terminal.screen(true), {columns, title}));
      await terminal.keys('q');
    }
  } finally {
    await closers.closeAll();
  }
};

await main(process.argv[2] ?? 'docs');
