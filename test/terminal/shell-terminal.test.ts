// The shell of the dashboard in a real terminal: what happens to the terminal, and what the terminal does.
import test from 'ava';
import {clusterOf} from '../helpers/dashboard/cluster-records.ts';
import {scriptedNode, startScripted} from '../helpers/dashboard/scripted-dashboard.ts';
import {eventually} from '../helpers/eventually.ts';
import {isTmuxInstalled} from '../helpers/terminal.ts';

const onTerminal = isTmuxInstalled() ? test : test.skip;

/** The line of screens, without blanks within their names where it is narrow. */
const isTop = (line = ''): boolean => /1 ?Cluster/.test(line);

onTerminal('[tmux] a terminal that is too small is told so, and what was typed is still there when it grows', async t => {
  const {terminal} = await startScripted(t, scriptedNode().answers);
  await terminal.type(':drif');
  await terminal.shows(': drif');

  await terminal.resize(50, 12);
  const small = await terminal.shows('needs at least 60×15');
  await terminal.resize(100, 30);
  const large = await terminal.shows(': drif');

  t.regex(small, /and has 50×12/);
  t.false(small.includes('Quarantine'));
  t.is(large.match(/1 Cluster/g)?.length, 1);
});

onTerminal('[tmux] after every change of its size there is one screen, with nothing left of the one before', async t => {
  const {terminal} = await startScripted(t, scriptedNode().answers);

  for (const [columns, rows] of [
    [200, 60],
    [60, 15],
    [120, 20],
    [80, 24],
  ] as const) {
    await terminal.resize(columns, rows);
    const screen = await eventually(async () => {
      const lines = (await terminal.screen()).replace(/\n$/, '').split('\n');
      // The key hints are in the last line but one: the last one is for the cursor.
      return lines.length === rows && isTop(lines[0]) && lines.at(-2)?.includes('enter node') && lines;
    });
    t.is(screen.filter(isTop).length, 1, `${columns}×${rows}`);
    t.is(screen.filter(line => line.includes('Held, by hour')).length, 1, `${columns}×${rows}`);
  }
});

onTerminal('[tmux] a command is completed by tab, however fast it is typed', async t => {
  const {terminal} = await startScripted(t, scriptedNode().answers);

  await terminal.type(':qua\t');

  await terminal.shows(': quarantine');
  t.pass();
});

onTerminal('[tmux] a long line may be pasted', async t => {
  const {terminal} = await startScripted(t, scriptedNode().answers);

  await terminal.type(`:${'quarantine '.repeat(30)}!`);

  await terminal.shows(/quarantine !/);
  t.pass();
});

onTerminal('[tmux] q leaves the terminal as it was found', async t => {
  const {terminal} = await startScripted(t, scriptedNode().answers);

  await terminal.keys('q');

  t.false((await terminal.shows('exit status 0')).includes('Quarantine'));
});

onTerminal('[tmux] it leaves at once with ctrl+c, and says with what status', async t => {
  const {terminal} = await startScripted(t, scriptedNode().answers);

  await terminal.keys('C-c');

  t.false((await terminal.shows('exit status 130')).includes('Quarantine'));
});

for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const)
  onTerminal(`[tmux] it gives the terminal back on ${signal}`, async t => {
    const {terminal} = await startScripted(t, scriptedNode().answers);

    process.kill(await terminal.pid(), signal);

    t.false((await terminal.shows('exit status 130')).includes('Quarantine'));
  });

onTerminal('[tmux] while it is suspended the terminal is as it was, and then the screen is there again', async t => {
  const {terminal} = await startScripted(t, scriptedNode().answers);
  const pid = await terminal.pid();

  process.kill(pid, 'SIGTSTP');
  await eventually(async () => !(await terminal.screen()).includes('Quarantine'));
  process.kill(pid, 'SIGCONT');
  await terminal.shows(/1 Cluster.*enter node/s);
  await terminal.keys('4');

  await terminal.shows('monitoring');
  t.pass();
});

onTerminal('[tmux] what goes wrong while it draws is told on a restored terminal, with what to do', async t => {
  const node = scriptedNode();
  const {terminal} = await startScripted(t, node.answers);
  await terminal.shows('3 online');

  node.setStatus({...clusterOf(), peers: [null as never]});
  await terminal.keys('r');

  const screen = await terminal.shows('exit status 1');
  t.regex(screen, /error: this should not have happened: .*\nhint: repeat with -v/s);
  t.false(screen.includes('Quarantine'));
});

onTerminal('[tmux] a window that is closed leaves no process behind', async t => {
  const {terminal} = await startScripted(t, scriptedNode().answers);
  const pid = await terminal.pid();

  await terminal.close();

  await eventually(() => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  });
  t.pass();
});

for (const [name, status] of [
  ['insufficient_scope', 403],
  ['not_found', 404],
  ['unavailable', 503],
] as const)
  onTerminal(`[tmux] where there are no events (${status}), it asks from time to time`, async t => {
    const node = scriptedNode();
    const error = {code: name, detail: 'no events for you'};
    const {terminal, api} = await startScripted(t, {...node.answers, 'GET /events': {status, error}});
    await terminal.shows(/polling.*no events for you/);
    const asked = () => api.requests.filter(({path}) => path === '/cluster/status').length;
    const before = asked();

    node.setStatus(clusterOf());

    await terminal.shows('0 nodes');
    t.true(asked() > before);
  });

onTerminal('[tmux] without colour nothing is coloured', async t => {
  const {terminal} = await startScripted(t, scriptedNode().answers, [], {env: {NO_COLOR: '1'}});
  const {terminal: byFlag} = await startScripted(t, scriptedNode().answers, ['--no-color']);
  const {terminal: coloured} = await startScripted(t, scriptedNode().answers);

  for (const each of [terminal, byFlag]) {
    await each.shows('● online');
    t.notRegex(await each.screen(true), /\x1b\[[\d;]*3[0-7]m/);
  }
  await coloured.shows('● online');
  t.regex(await coloured.screen(true), /\x1b\[[\d;]*32m/);
});

onTerminal('[tmux] it draws where CI is set, too', async t => {
  const {terminal} = await startScripted(t, scriptedNode().answers, [], {env: {CI: '1'}});

  await terminal.shows('3 online');
  await terminal.keys('4');

  await terminal.shows('monitoring');
  t.pass();
});
