// The trace on a real node and in a real terminal.
import test from 'ava';
import {send} from '../helpers/cli/sent-mail.ts';
import {holdAll, relayAll, startMailNode} from '../helpers/mail-node.ts';
import {isTmuxInstalled, startDashboard} from '../helpers/terminal.ts';

const onTerminal = isTmuxInstalled() ? test : test.skip;

onTerminal('[tmux] mail that arrives shows up, is found by its recipient, and tells what its server answered', async t => {
  const node = await startMailNode(t, {domain: relayAll});
  const terminal = await startDashboard(t, node, ['--screen', 'trace']);
  await terminal.shows('No mail has come yet');

  await send(node, 'Subject: the first one\r\n\r\nhello\r\n');
  await terminal.shows(/relayed .*the first one/);
  await terminal.type('/to:nobody@example.com');
  await terminal.keys('Enter');
  await terminal.shows('Nothing matches this filter');
  await terminal.keys('Escape');
  await terminal.shows(/relayed .*the first one/);
  await terminal.keys('Enter');

  const page = await terminal.shows('passed it on to');
  t.regex(page, /answered: 250 /);
  t.regex(page, /Subject +the first one/);
});

onTerminal('[tmux] older entries are read as the cursor comes near them', async t => {
  const node = await startMailNode(t, {domain: relayAll});
  for (let count = 1; count <= 130; count += 1) await send(node, `Subject: number ${count}.\r\n\r\nhello\r\n`);
  const terminal = await startDashboard(t, node, ['--screen', 'trace']);
  await terminal.shows(/number 130\./);

  await terminal.keys('G');
  await terminal.shows(/of 130/);
  await terminal.keys('G');

  await terminal.shows(/number 1\./);
  t.pass();
});

onTerminal('[tmux] a held mail shows its history, and a key that may not see the trace is told so', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await send(node, 'Subject: held\r\n\r\nhello\r\n');
  const terminal = await startDashboard(t, node, ['--screen', 'quarantine'], {columns: 160, rows: 50});
  await terminal.shows('1 of 1 mail');
  await terminal.keys('Enter');
  await terminal.shows(/History.*held it for spam/s);
  const {json} = await node.api('POST', 'auth/api-keys', {body: {name: 'desk', scope: 'quarantine-only'}});
  const env = {MFCTL_URL: node.api_url, MFCTL_CACERT: node.ca_file, MFCTL_API_KEY: json.data.key};

  const other = await startDashboard(t, node, ['--screen', 'trace'], {env});

  const screen = await other.shows('the trace cannot be shown');
  t.regex(screen.replace(/\s+/g, ' '), /it takes a read-only or domain-admin or full-admin key/);
});
