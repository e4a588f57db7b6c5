// A real node that goes away while the dashboard is open, and a switch to other nodes.
import test from 'ava';
import {startNode} from '../helpers/node.ts';
import {isTmuxInstalled, startDashboard} from '../helpers/terminal.ts';

const onTerminal = isTmuxInstalled() ? test : test.skip;

onTerminal('[tmux] a node that goes away is named so with its data kept, and read again when it is back', async t => {
  const node = await startNode(t);
  const terminal = await startDashboard(t, node);
  await terminal.shows(/● live.*1 node · 1 online/s);

  await node.stop();
  await terminal.shows(/✗ node does not answer.*cannot reach.*1 node · 1 online .* ago/s, 40_000);
  await node.start();
  await node.api('POST', 'auth/api-keys', {body: {name: 'meanwhile', scope: 'read-only'}});

  await terminal.shows('● live', 60_000);
  await terminal.keys('4');
  await terminal.shows('meanwhile');
  t.pass();
});

onTerminal('[tmux] c goes to another context, and comes back with a message from one that does not work', async t => {
  const [here, there] = [await startNode(t), await startNode(t)];
  const add = async (name: string, url: string, caFile: string) => {
    const args = ['context', 'add', name, '--url', url, '--cacert', caFile, '--api-key-file', '-'];
    const {code, stderr} = await here.mfctl(args, {input: there.api_key});
    t.is(code, 0, stderr);
  };
  await add('there', there.api_url, there.ca_file);
  await add('nowhere', 'https://127.0.0.1:9', there.ca_file);
  const terminal = await startDashboard(t, here, ['--screen', 'keys']);
  await terminal.shows('admin');

  await terminal.type(':context nowhere\r');
  await terminal.shows(/cannot reach 127\.0\.0\.1:9/);
  await terminal.keys('c');
  await terminal.shows('── Context');
  await terminal.keys('Escape');
  // A key sent right after Escape would be read as part of it.
  await terminal.shows('R rotate');
  await terminal.type(':context there\r');

  // The dashboard stays on its screen.
  await terminal.shows(/4 Keys .* there\n.*by name/s);
  t.pass();
});
