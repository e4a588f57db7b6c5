// Actions that were confirmed and not started yet when the dashboard is closed.
import test from 'ava';
import {createContextStore} from '../../cli/files/context-store.ts';
import {startApi} from '../helpers/cli/scripted-api.ts';
import {clusterOf} from '../helpers/dashboard/cluster-records.ts';
import {me, scriptedNode, startScripted} from '../helpers/dashboard/scripted-dashboard.ts';
import {eventually} from '../helpers/eventually.ts';
import {mfctlFile} from '../helpers/program.ts';
import {isTmuxInstalled, startDashboard, startTerminal} from '../helpers/terminal.ts';

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
  const {terminal, api} = await startScripted(t, answers, ['--screen', 'keys', '--undo-delay', '60']);
  await terminal.shows('monitoring');
  await terminal.keys('X');
  await terminal.shows('Revoke key');
  await terminal.keys('y');
  await terminal.shows(/In \d+ s: revoke/);
  return {terminal, api, node};
};

onTerminal('[tmux] an address that is none is told before anything is drawn', async t => {
  const terminal = await startTerminal(t, [process.execPath, mfctlFile, 'dashboard', '--url', 'ftp://mx1'], {
    env: {XDG_CONFIG_HOME: '/nonexistent'},
  });

  t.regex(await terminal.shows('exit status 2'), /"ftp:\/\/mx1" is not the address of a node/);
});

for (const [name, leave] of Object.entries(ways))
  onTerminal(`[tmux] what was confirmed and could be taken back is not done after ${name}`, async t => {
    const left = await confirmRevocation(t);

    await leave(left);

    // The process ends, so that no action can start later.
    await left.terminal.shows(/exit status (1|130)/);
    t.deepEqual(
      left.api.requests.filter(({method}) => method === 'POST'),
      [],
    );
  });

onTerminal('[tmux] a node that leaves every request without an answer keeps nobody from leaving', async t => {
  const {terminal, api} = await startScripted(t, {...scriptedNode().answers, 'GET /mail/quarantine': {isHeld: true}}, []);
  await terminal.keys('2');
  await eventually(() => api.requests.some(({path}) => path === '/mail/quarantine'));

  await terminal.keys('q');

  await terminal.shows('exit status 0', 5000);
  t.pass();
});

onTerminal('[tmux] ctrl+c gives the terminal back while another context does not answer', async t => {
  const node = scriptedNode();
  let isHeld = false;
  const answers = {...node.answers, 'GET /auth/me': () => ({data: me('full-admin'), isHeld})};
  const api = await startApi(t, answers);
  const store = createContextStore({env: api.env});
  await store.put({name: 'other', url: api.url, cacert: api.env.MFCTL_CACERT}, {key: 'mfk_other', makeCurrent: true});
  const terminal = await startDashboard(t, {xdgConfigHome: api.folder}, [], {env: api.env});
  isHeld = true;
  const before = api.requests.length;
  await terminal.type(':context other\r');
  await eventually(() => api.requests.slice(before).some(({path}) => path === '/auth/me'));

  await terminal.keys('C-c');

  t.false((await terminal.shows('exit status 130', 5000)).includes('Quarantine'));
});
