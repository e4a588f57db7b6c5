import test from 'ava';
import {startNode} from '../helpers/node.ts';
import {isTmuxInstalled, startDashboard} from '../helpers/terminal.ts';

const onTerminal = isTmuxInstalled() ? test : test.skip;

onTerminal('[tmux] the dashboard leaves the terminal as it was found', async t => {
  const terminal = await startDashboard(t, await startNode(t));

  await terminal.keys('q');

  const screen = await terminal.shows('exit status 0');
  t.false(screen.includes('Quarantine'));
});

onTerminal('[tmux] a signal ends it with the terminal restored', async t => {
  const terminal = await startDashboard(t, await startNode(t));

  process.kill(await terminal.pid(), 'SIGTERM');

  const screen = await terminal.shows('exit status 130');
  t.false(screen.includes('Quarantine'));
});

onTerminal('[tmux] a command is completed by tab, however fast it is typed', async t => {
  const terminal = await startDashboard(t, await startNode(t));

  await terminal.type(':qua\t');

  await terminal.shows(': quarantine');
  t.pass();
});

onTerminal('[tmux] a long line may be pasted', async t => {
  const terminal = await startDashboard(t, await startNode(t));

  await terminal.type(`:${'quarantine '.repeat(30)}!`);

  await terminal.shows(/quarantine !/);
  t.pass();
});
