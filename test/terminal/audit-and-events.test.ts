import test from 'ava';
import {send} from '../helpers/cli/sent-mail.ts';
import {holdAll, startMailNode} from '../helpers/mail-node.ts';
import {startNode} from '../helpers/node.ts';
import {isTmuxInstalled, startDashboard} from '../helpers/terminal.ts';

const onTerminal = isTmuxInstalled() ? test : test.skip;

onTerminal('[tmux] the audit shows what was just done, and one entry with its hash', async t => {
  const node = await startNode(t);
  const terminal = await startDashboard(t, node, ['--screen', 'audit']);
  await terminal.shows('key.create');

  const {code} = await node.mfctl(['domain', 'create', 'example.com', '--backend', 'mx.example.com:25']);
  await terminal.shows(/domain\.create +example\.com +✓ ok/);
  await terminal.keys('Enter');

  t.is(code, 0);
  const {json} = await node.api('GET', 'audit?action=domain.create');
  await terminal.shows(json.data[0].hash);
});

onTerminal('[tmux] events show a mail that arrives, and stand still while they are paused', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  const terminal = await startDashboard(t, node, ['--screen', 'events']);
  await terminal.shows('heard since');

  await send(node, 'Subject: the first one\r\n\r\nhello\r\n');
  await terminal.shows(/■ held .*the first one/);
  await terminal.keys('p');
  await terminal.shows('paused, 0 new');
  await send(node, 'Subject: the second one\r\n\r\nhello\r\n');
  const paused = await terminal.shows('paused, 1 new');
  await terminal.keys('p');

  await terminal.shows(/■ held .*the second one/);
  t.false(paused.includes('the second one'));
});

onTerminal('[tmux] events are kept while another screen is shown', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  const terminal = await startDashboard(t, node, ['--screen', 'events']);
  await terminal.shows('heard since');
  await terminal.keys('3');
  await terminal.shows('example.com');

  await send(node, 'Subject: meanwhile\r\n\r\nhello\r\n');
  await terminal.keys('6');

  await terminal.shows(/■ held .*meanwhile/);
  await terminal.keys('Enter');
  await terminal.shows(/Now +held/);
  t.pass();
});

onTerminal('[tmux] a node that was away leaves a line in the events, and those of mail that were missed follow', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  const terminal = await startDashboard(t, node, ['--screen', 'events']);
  await terminal.shows('heard since');

  await node.stop();
  await terminal.shows('no events since');
  await node.start();
  await send(node, 'Subject: caught up on\r\n\r\nhello\r\n');

  await terminal.shows(/connection lost [\d:]+Z–[\d:]+Z: only events of mail are caught up/, 60_000);
  await terminal.shows(/■ held .*caught up on/);
  t.pass();
});

onTerminal('[tmux] a key that may not see the audit is told so', async t => {
  const node = await startNode(t);
  const {json} = await node.api('POST', 'auth/api-keys', {body: {name: 'desk', scope: 'quarantine-only'}});
  const env = {MFCTL_URL: node.api_url, MFCTL_CACERT: node.ca_file, MFCTL_API_KEY: json.data.key};

  const terminal = await startDashboard(t, node, ['--screen', 'audit'], {env});

  const screen = await terminal.shows('the audit cannot be shown');
  t.regex(screen.replace(/\s+/g, ' '), /this quarantine-only key may not do that; it takes a read-only or full-admin key/);
});
