// What was confirmed and has not begun when the dashboard is left.
import test from 'ava';
import {mfctlFile} from '../../helpers/program.ts';
import {isTmuxInstalled, startTerminal} from '../../helpers/terminal.ts';
import {clusterOf} from './cluster-records.ts';
import {scriptedNode, startScripted} from './scripted-dashboard.ts';

const onTerminal = isTmuxInstalled() ? test : test.skip;

const ways = {
  'ctrl+c': ({terminal}) => terminal.keys('C-c'),
  SIGTERM: async ({terminal}) => void process.kill(await terminal.pid(), 'SIGTERM'),
  'a failure': async ({terminal, node}) => {
    node.setStatus({...clusterOf(), peers: [null as never]});
    await terminal.keys('1', 'r');
  },
} satisfies Record<string, (left: Awaited<ReturnType<typeof confirmRevocation>>) => Promise<void>>;

const confirmRevocation = async (t: Parameters<typeof startScripted>[0]) => {
  const node = scriptedNode();
  const answers = {...node.answers, 'POST /auth/api-keys/7/revoke': {data: null}};
  const {terminal, api} = await startScripted(t, answers, ['--screen', 'keys', '--undo-delay', '3']);
  await terminal.shows('monitoring');
  await terminal.keys('X');
  await terminal.shows('Revoke key');
  await terminal.keys('y');
  await terminal.shows(/In \d s: revoke/);
  return {terminal, api, node};
};

onTerminal('[tmux] an address that is none is told before anything is drawn', async t => {
  const terminal = await startTerminal(t, [process.execPath, mfctlFile, 'dashboard', '--url', 'mx1'], {
    env: {XDG_CONFIG_HOME: '/nonexistent'},
  });

  t.regex(await terminal.shows('exit status 2'), /"mx1" is no address of a node/);
});

for (const [name, leave] of Object.entries(ways))
  onTerminal(`[tmux] what was confirmed and could be taken back is not done after ${name}`, async t => {
    const left = await confirmRevocation(t);

    await leave(left);

    // The status is printed when nothing is left that could be done.
    await left.terminal.shows(/exit status (1|130)/);
    t.deepEqual(
      left.api.requests.filter(({method}) => method === 'POST'),
      [],
    );
  });
