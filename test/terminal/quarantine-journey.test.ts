// Journey through the quarantine screen, on a real node and in a real terminal.
import {readFile, stat} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {heldIds, send} from '../helpers/cli/sent-mail.ts';
import {holdAll, type MailNode, startMailNode} from '../helpers/mail-node.ts';
import {nodeFolder} from '../helpers/node.ts';
import {button} from '../helpers/page.ts';
import {linksOf, startNodeWithPages} from '../helpers/recipient-node.ts';
import {isTmuxInstalled, startDashboard, type TerminalOptions, type TestTerminal} from '../helpers/terminal.ts';

const onTerminal = isTmuxInstalled() ? test : test.skip;

const mailAbout = (subject: string): string =>
  `From: Bob <bob@sender.example>\r\nTo: a@example.com\r\nSubject: ${subject}\r\nMessage-ID: <${subject.replace(/\W/g, '')}@x>\r\n\r\nDear customer\r\n`;

const hold = async (node: MailNode, subjects: readonly string[]): Promise<void> => {
  for (const subject of subjects) await send(node, mailAbout(subject));
};

const numbered = (count: number, word: string): string[] => Array.from({length: count}, (_, at) => `${word} ${at + 1}`);

interface Opening extends TerminalOptions {
  undoDelayS?: number;
  args?: readonly string[];
}

const open = (
  t: ExecutionContext,
  node: MailNode,
  {undoDelayS = 1, args = [], ...options}: Opening = {},
): Promise<TestTerminal> =>
  startDashboard(t, node, ['--screen', 'quarantine', '--undo-delay', String(undoDelayS), ...args], options);

/** Sends Escape alone: a key right after it would be read as part of it. */
const stepBack = async (terminal: TestTerminal, shows: RegExp | string): Promise<void> => {
  await terminal.keys('Escape');
  await terminal.shows(shows);
};

onTerminal('[tmux] ten mails are found by a filter, read, selected, released and delivered', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await hold(node, [...numbered(10, 'invoice'), ...numbered(5, 'newsletter')]);
  const terminal = await open(t, node);
  await terminal.shows('of 15 mails');

  await terminal.type('/dom\texample.com sender:sender.example inv');
  await terminal.keys('Enter');
  await terminal.shows('of 10 mails');
  await terminal.shows('/ domain:example.com sender:sender.example inv ');
  await terminal.keys('Enter');
  await terminal.shows('Dear customer');
  await stepBack(terminal, 'ARRIVED');
  for (let count = 0; count < 10; count += 1) await terminal.keys('Space');
  await terminal.shows('✓ 10 selected');
  await terminal.keys('R');
  await terminal.shows('Release 10 mails: deliver them');
  t.is(node.sink.mails.length, 0);
  await terminal.keys('y');

  await terminal.shows('10 mails released');
  await terminal.shows('Nothing matches this filter');
  await stepBack(terminal, 'of 5 mails');
  t.deepEqual(
    node.sink.mails.map(({content}) => /^Subject: (.*)\r$/m.exec(content.toString())?.[1]).sort(),
    numbered(10, 'invoice').sort(),
  );
  t.is((await heldIds(node)).length, 5);
});

onTerminal('[tmux] what is taken back in time is not done, and is selected as before', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await hold(node, numbered(3, 'invoice'));
  const terminal = await open(t, node, {undoDelayS: 30});
  await terminal.shows('of 3 mails');

  await terminal.keys('a');
  await terminal.shows('✓ 3 selected');
  await terminal.keys('D');
  await terminal.shows('Discard 3 mails: delete them for good, undelivered, all that matched');
  await terminal.keys('y');
  await terminal.shows('u takes it back');
  await terminal.shows(/^× .*invoice/m);
  await terminal.keys('u');

  await terminal.shows('Taken back, nothing was done: discard 3 mails');
  await terminal.shows('✓ 3 selected');
  t.is((await heldIds(node)).length, 3);
  t.is(node.sink.mails.length, 0);
});

onTerminal('[tmux] in 1,200 mails one gets to the end at once and discards a range across many pages', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  const sizes = numbered(1200, 'bulk');
  for (let at = 0; at < sizes.length; at += 40)
    await Promise.all(sizes.slice(at, at + 40).map(subject => send(node, mailAbout(subject))));
  const terminal = await open(t, node);
  await terminal.shows('1 of 1,200 mails');

  await terminal.keys('j', 'j', 'V', 'G');
  await terminal.shows('1,200 of 1,200 mails');
  await terminal.shows(/^✓ .*bulk/m);
  await terminal.keys('k', 'k', 'V');
  await terminal.shows('✓ 1,196 selected');
  await terminal.keys('D');
  await terminal.shows('Discard 1,196 mails');
  await terminal.keys('y', 'Enter');
  await terminal.shows(/type 1196 and enter to discard: +n do nothing/);
  await terminal.type('1196');
  await terminal.keys('Enter');

  await terminal.shows('1,196 mails discarded', 60_000);
  await terminal.shows('of 4 mails');
  t.is((await heldIds(node)).length, 4);
});

onTerminal('[tmux] mail that arrives is counted above, and the cursor stays on its mail', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await hold(node, numbered(4, 'before'));
  const terminal = await open(t, node);
  await terminal.shows('1 of 4 mails');
  await terminal.keys('j');
  await terminal.shows('2 of 4 mails');

  await hold(node, numbered(3, 'after'));

  await terminal.shows('▲ 3 new (g)');
  await terminal.shows('5 of 7 mails');
  await terminal.keys('y');
  const [id] = (await heldIds(node)).slice(4);
  await terminal.shows(id ?? 'an id');
  t.pass();
});

onTerminal('[tmux] what cannot be delivered stays, and why is said at once, and by e', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await hold(node, ['invoice']);
  node.sink.behave({final: {code: 554, text: '5.7.1 not from you'}});
  const terminal = await open(t, node);
  await terminal.shows('1 of 1 mail');

  await terminal.keys('R');
  await terminal.shows('Release 1 mail: deliver it');
  await terminal.keys('y');
  await terminal.shows(/Not released: .*not from you/);
  await terminal.keys('e');

  await terminal.shows('not from you');
  t.is((await heldIds(node)).length, 1);
});

onTerminal('[tmux] with --read-only nothing is released, and it is said why', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await hold(node, ['invoice']);
  const terminal = await open(t, node, {args: ['--read-only']});
  await terminal.shows('1 of 1 mail');

  await terminal.keys('R');

  await terminal.shows('opened with --read-only');
  t.is((await heldIds(node)).length, 1);
});

onTerminal('[tmux] a view that is saved can be chosen again, and deleted', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await hold(node, ['invoice', 'newsletter']);
  const terminal = await open(t, node);
  await terminal.shows('1 of 2 mails');

  await terminal.type(':filter newsl');
  await terminal.keys('Enter');
  await terminal.shows('1 of 1 mail');
  await terminal.type(':save the news');
  await terminal.keys('Enter');
  await terminal.shows('Saved as the news');
  await stepBack(terminal, '1 of 2 mails');
  await terminal.keys('v');
  await terminal.shows(/the news +saved +newsl/);
  await terminal.keys('Enter');
  await terminal.shows('1 of 1 mail');
  t.regex(await readFile(join(node.xdgConfigHome, 'mfctl', 'views.yaml'), 'utf8'), /the news:\n +query: newsl/);

  await terminal.keys('v');
  await terminal.shows(/the news +saved/);
  await terminal.keys('d');
  await terminal.shows('View the news deleted');
  t.false((await terminal.screen()).includes('the news   '));
});

onTerminal('[tmux] mail that a recipient asked for has a mark, and is alone behind its filter and in its view', async t => {
  const {node, page} = await startNodeWithPages(t);
  await node.api('PUT', `domains/${node.domainId}/digest`, {body: {actions: {spam: 'request'}}});
  for (const subject of ['invoice', 'newsletter', 'offer']) await node.hold({to: 'ann@example.com', subject});
  const link = (await linksOf(node)).get('newsletter') ?? '';
  await page(link, {...button, body: 'do=request'});
  const terminal = await open(t, node);

  const all = await terminal.shows('of 3 mails');
  t.deepEqual(
    all.match(/^\?.*(invoice|newsletter|offer)/gm)?.map(line => line.trim().split(/\s+/).at(-1)),
    ['newsletter'],
  );
  await terminal.type('/requested:yes');
  await terminal.keys('Enter');
  await terminal.shows(/1 of 1 mail\b/);
  t.regex(await terminal.screen(), /^\? .*newsletter/m);
  await stepBack(terminal, '1 of 3 mails');
  await terminal.keys('v');
  await terminal.shows(/asked for +requested:yes/);
  await terminal.keys('j', 'Enter');
  await terminal.shows(/ requested:yes .*1 of 1 mail\b/);
  t.regex(await terminal.screen(), /^\? .*newsletter/m);
});

onTerminal('[tmux] a mail is written to a new file', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await hold(node, ['invoice']);
  const {root} = await nodeFolder(t);
  const terminal = await open(t, node, {env: {HOME: root}});
  await terminal.shows('1 of 1 mail');

  await terminal.keys('w');
  await terminal.shows('write the mail to');
  await terminal.keys('C-u');
  await terminal.type('~/mail.eml');
  await terminal.keys('Enter');
  await terminal.shows('written to');

  t.true((await readFile(join(root, 'mail.eml'), 'utf8')).includes('Subject: invoice\r\n'));
  t.is((await stat(join(root, 'mail.eml'))).mode & 0o777, 0o600);
});

onTerminal('[tmux] a mail that somebody else releases while it is read says so', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await hold(node, ['invoice', 'newsletter']);
  const {json} = await node.api('POST', 'auth/api-keys', {body: {name: 'other', scope: 'quarantine-only'}});
  const terminal = await open(t, node, {columns: 200, rows: 60});
  await terminal.shows('1 of 2 mails');
  await terminal.keys('Enter', 'Enter');
  await terminal.shows('Dear customer');

  const [id] = await heldIds(node);
  const {code} = await node.mfctl(['quarantine', 'release', id ?? ''], {env: {MFCTL_API_KEY: json.data.key}});
  t.is(code, 0);

  await terminal.shows(`by key ${json.data.id}. This is another mail.`);
  await terminal.shows('1 of 1 mail ');
  t.pass();
});

onTerminal('[tmux] the smallest terminal shows the state of the connection, and how to release', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  await send(node, 'Subject: held\r\n\r\nhello\r\n');

  const terminal = await startDashboard(t, node, ['--screen', 'quarantine'], {columns: 60, rows: 15});

  t.regex(await terminal.shows(/held\n/), /\n ● live/);
  t.regex(await terminal.screen(), /R release {2}D discard/);
});
