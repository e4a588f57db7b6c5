// Start time of mfctl when its files are not cached yet, compared with a Node that does nothing.
import {spawnSync} from 'node:child_process';
import {join} from 'node:path';
import {startNode} from '../helpers/node.ts';
import {cleanEnvironment, mfctlFile} from '../helpers/program.ts';
import {openTestStore} from '../helpers/store.ts';
import {alternate, timed} from './alternate.ts';
import type {Bench, BenchContext} from './bench.ts';
import {fillStore} from './held-store.ts';
import {quantilesOf} from './quantiles.ts';

const held = 1000;

export const coldBench: Bench = {
  name: 'cold',
  rows: [
    {name: 'cold-version', title: 'mfctl --version', anchor: 'node -e 0', wanted: {atMost: 1.6}, unit: '×'},
    {name: 'cold-list', title: 'mfctl quarantine list', anchor: 'node -e 0', wanted: {atMost: 3}, unit: '×'},
  ],
  seconds: 15,
  async run({isQuick, owner, report}: BenchContext) {
    const node = await startNode(owner);
    const store = await openTestStore(join(node.data, 'mfd.db'));
    await fillStore(store, {count: held, share: 0, of: 1, newestMs: Date.now()});
    await store.close();
    const env = {...cleanEnvironment(), XDG_CONFIG_HOME: node.xdgConfigHome};
    const work = (command: string, args: string[], expected: RegExp) => async () =>
      timed(async () => {
        const {status, stdout, stderr} = spawnSync(command, args, {env, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8'});
        if (status !== 0 || !expected.test(stdout))
          throw new Error(`${command} ${args.join(' ')}: ${status} ${stdout} ${stderr}`);
      });

    // All commands are run as typed: found in the PATH, and mfctl by its first line.
    const times = await alternate(
      {
        node: work('node', ['-e', '0'], /^$/),
        'cold-version': work(mfctlFile, ['--version'], /^mfctl \d/),
        'cold-list': work(mfctlFile, ['quarantine', 'list'], /bench000000000/),
      },
      {rounds: isQuick ? 10 : 40, warmUps: 3},
    );

    const anchor = quantilesOf(times.node).p50;
    for (const row of ['cold-version', 'cold-list'] as const) {
      const own = quantilesOf(times[row]).p50;
      report(row, {value: own / anchor, own: `${own.toFixed(1)} ms`, anchor: `${anchor.toFixed(1)} ms`});
    }
  },
};
