import test from 'ava';
import {key} from '../helpers/cli/sample-records.ts';
import {scriptedNode, startScripted} from '../helpers/dashboard/scripted-dashboard.ts';
import {startNode, type TestNode} from '../helpers/node.ts';
import {isTmuxInstalled, startDashboard, type TestTerminal} from '../helpers/terminal.ts';

const onTerminal = isTmuxInstalled() ? test : test.skip;

const secretOn = async (terminal: TestTerminal): Promise<string> =>
  /^ (mfk_\w{38})\s*$/m.exec(await terminal.shows(/^ mfk_\w{38}\s*$/m))?.[1] ?? '';

/** The node's answer to a key that identifies itself. */
const whoIs = async (node: TestNode, apiKey: string) => node.api('GET', 'auth/me', {headers: {'x-api-key': apiKey}});

onTerminal('[tmux] a key that is made works at once, and is not on the screen afterwards', async t => {
  const node = await startNode(t);
  const terminal = await startDashboard(t, node, ['--screen', 'keys']);
  await terminal.shows('admin');

  await terminal.keys('n');
  await terminal.shows('New API key');
  await terminal.type('for the shop\t');
  await terminal.keys('Right');
  await terminal.type('\t\t');
  await terminal.keys('C-u');
  await terminal.type('77\t90d\r');
  await terminal.shows(/Make this API key\?\s+for the shop · quarantine-only · 77 requests a minute · ends\s/);
  t.false((await node.api('GET', 'auth/api-keys')).json.data.some(({name}: {name: string}) => name === 'for the shop'));
  await terminal.keys('y');
  const secret = await secretOn(terminal);
  const {status, json} = await whoIs(node, secret);
  await terminal.keys('Enter');
  await terminal.shows(/for the shop .* in 89d/);

  t.is(status, 200);
  t.like(json.data, {name: 'for the shop', scope: 'quarantine-only', rate_limit_per_minute: 77});
  t.false((await terminal.screen()).includes(secret));
});

onTerminal('[tmux] what the node finds wrong with a new key is shown in the form, with what was typed', async t => {
  const node = await startNode(t);
  const terminal = await startDashboard(t, node, ['--screen', 'keys']);
  await terminal.shows('admin');

  await terminal.keys('n');
  await terminal.type('shop\t');
  await terminal.keys('Left', 'Left');
  await terminal.type('\tnowhere.example\r');
  await terminal.shows('domain-admin for nowhere.example');
  await terminal.keys('y');

  const screen = await terminal.shows(/!Domains +nowhere\.example/);
  t.regex(screen, /Name +shop/);
});

onTerminal(
  '[tmux] the key in use is rotated: the old one is good until the new one was taken, and the dashboard goes on',
  async t => {
    const node = await startNode(t);
    const terminal = await startDashboard(t, node, ['--screen', 'keys']);
    await terminal.shows('admin');

    await terminal.keys('R');
    await terminal.shows('how long is the old one good?');
    await terminal.keys('Enter');
    await terminal.shows('the dashboard goes on with the new one');
    await terminal.keys('y');
    const secret = await secretOn(terminal);
    const before = await whoIs(node, node.api_key);
    await terminal.keys('Enter');
    await terminal.shows(/Rotated: key \d+ is refused from now on/);
    const [after, now] = [await whoIs(node, node.api_key), await whoIs(node, secret)];

    t.deepEqual([before.status, after.status, now.status], [200, 401, 200]);
    await terminal.shows(/✗ revoked/);
    await terminal.shows(/^\* +admin .*● active/m);
    t.is((await node.mfctl(['whoami'])).code, 0);
  },
);

onTerminal('[tmux] a key is revoked after a question that says when it was last used', async t => {
  const node = await startNode(t);
  const made = await node.api('POST', 'auth/api-keys', {body: {name: 'shop', scope: 'read-only'}});
  const terminal = await startDashboard(t, node, ['--screen', 'keys', '--undo-delay', '1']);
  await terminal.shows('shop');

  await terminal.keys('G', 'X');
  await terminal.shows(/Revoke key \d+ \(shop.*It has never been used/s);
  await terminal.keys('y');
  await terminal.shows('Revoked key');

  t.is((await whoIs(node, made.json.data.key)).status, 401);
  await terminal.shows(/shop .*✗ revoked/);
});

onTerminal('[tmux] the last full-admin key goes only when its number is typed', async t => {
  const node = await startNode(t);
  const terminal = await startDashboard(t, node, ['--screen', 'keys', '--undo-delay', '1']);
  await terminal.shows('admin');

  await terminal.keys('X');
  await terminal.shows('THIS IS THE KEY IN USE HERE');
  await terminal.keys('y');
  await terminal.shows(/the last full-admin key\. Type \d+ to revoke/);
  await terminal.type('y\r');
  await terminal.keys('Escape');

  await terminal.shows('4 Keys');
  t.is((await whoIs(node, node.api_key)).status, 200);
});

onTerminal('[tmux] nodes that did not hear of a revocation are named', async t => {
  const node = scriptedNode();
  const {terminal} = await startScripted(
    t,
    {
      ...node.answers,
      'GET /auth/api-keys': {data: [{...key, id: 9, name: 'shop'}]},
      'POST /auth/api-keys/9/revoke': {data: key, headers: {'x-unreachable-nodes': 'mx2, mx3'}},
    },
    ['--screen', 'keys', '--undo-delay', '0'],
  );
  await terminal.shows('shop');

  await terminal.keys('X');
  await terminal.shows('Revoke key 9');
  await terminal.keys('y');

  await terminal.shows('Revoked key 9, but mx2, mx3 did not answer and will follow');
  t.pass();
});
