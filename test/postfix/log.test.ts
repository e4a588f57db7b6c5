// The log of Postfix: what became of mail that mfd handed over.
import {rename, rm} from 'node:fs/promises';
import {storyOf} from '../../cli/trace/story.ts';
import type {MailEvent} from '../../shared/mail-event.ts';
import {eventually} from '../helpers/eventually.ts';
import {type MailNode, relayAll, startMailNode} from '../helpers/mail-node.ts';
import {postfixMissing, startPostfix} from '../helpers/postfix.ts';
import {type PostfixNode, startPostfixNode} from '../helpers/postfix-node.ts';
import {serialWith} from '../helpers/test-with.ts';

const ifPostfix = serialWith('Postfix', postfixMissing());

const raw =
  'From: Ada <ada@example.net>\r\nTo: x@example.com\r\nDate: Tue, 04 Nov 2025 09:12:44 +0100\r\nMessage-ID: <1@example.net>\r\nSubject: x\r\n\r\nhello\r\n';
const spam = `${raw}XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\r\n`;

/** What is known of one mail, once there are so many entries. */
const entriesOf = async ({api, node_id}: MailNode, queueId: string, count: number): Promise<MailEvent[]> =>
  eventually(async () => {
    const entries = ((await api('GET', `mail/trace/${node_id}/${queueId}`)).json.data ?? []) as MailEvent[];
    return entries.length >= count && entries;
  });

const queued = ({text}: {text: string}): string => / queued as (\w+)$/.exec(text)?.[1] ?? text;
const brief = (entries: readonly MailEvent[]) =>
  entries.map(({event, recipients, reply}) => `${event} ${recipients.join(' ')}: ${reply}`);

ifPostfix('the story of a mail goes on behind Postfix, with each recipient, the server and its words', async t => {
  // Tried again once.
  const settings = {minimal_backoff_time: '3600s', maximal_backoff_time: '3600s', queue_run_delay: '3600s'};
  const node = await startPostfixNode(t, {milter: 'unix', isLogFollowed: true, settings});
  node.sink.behave({
    recipients: {
      'gone@example.com': {code: 550, text: '5.1.1 nobody of that name >, relay=x'},
      'full@example.com': {code: 451, text: '4.2.2 mailbox full'},
    },
  });

  const {reply} = await node.mail(raw, {to: ['ben@example.com', 'gone@example.com', 'full@example.com']});
  const queueId = queued(reply);
  const entries = await entriesOf(node, queueId, 4);

  const server = `127.0.0.1[127.0.0.1]:${node.sink.server.port}`;
  t.deepEqual(brief(entries.slice(1)).toSorted(), [
    'bounced gone@example.com: 550 5.1.1 nobody of that name >, relay=x',
    'postponed full@example.com: 451 4.2.2 mailbox full',
    'sent ben@example.com: 250 OK: message queued',
  ]);
  for (const entry of entries.slice(1))
    t.like(entry, {server, domain: 'example.com', sender: 'ada@example.net', message_id: '1@example.net', subject: 'x'});
  const story = storyOf(entries);
  t.regex(story, /passed it on to Postfix, which delivers it/);
  t.regex(
    story,
    /Postfix gave up, and returned it to its sender \(for gone@example\.com\)\n +127\.0\.0\.1\[127\.0\.0\.1\]:\d+ answered: 550 5\.1\.1 nobody/,
  );
  const {json} = await node.api('GET', 'mail/trace?recipient=full@example.com&event=postponed');
  t.is(json.data[0].queue_id, queueId);

  // The administrator mends the mailbox.
  node.sink.behave({});
  await node.postfix.command('postqueue', ['-i', queueId]);
  const later = await entriesOf(node, queueId, 5);
  t.is(brief(later).at(-1), 'sent full@example.com: 250 OK: message queued');
});

ifPostfix('held mail is followed after its release, also under the id that Postfix gives it then', async t => {
  // Mail is old at once, and is queued anew when it is released.
  const old = await startPostfixNode(t, {milter: 'unix', isLogFollowed: true, settings: {maximal_queue_lifetime: '0'}});

  const {reply} = await old.mail(spam);
  await old.act('release', await old.onlyHeld());
  const entries = await entriesOf(old, queued(reply), 3);

  t.deepEqual(
    entries.map(({event}) => event),
    ['held', 'released', 'sent'],
  );
  t.regex(await old.postfix.log(), new RegExp(`orig_id=${queued(reply)}`));
});

ifPostfix('a log that is rotated while mail goes on, and a killed node, lose nothing and repeat nothing', async t => {
  const node: PostfixNode = await startPostfixNode(t, {milter: 'unix', isLogFollowed: true});
  const send = async () => queued((await node.mail(raw)).reply);

  const first = await send();
  await entriesOf(node, first, 2);
  const second = await send();
  await rename(node.postfix.logFile, `${node.postfix.logFile}.1`);
  await node.postfix.command('postfix', ['reload']);
  const third = await send();
  await entriesOf(node, third, 2);
  const fourth = await send();
  await node.stop('SIGKILL');
  await rename(node.postfix.logFile, `${node.postfix.logFile}.2`);
  await node.start();
  const fifth = await send();
  await entriesOf(node, fifth, 2);

  for (const id of [first, second, third, fifth]) t.is((await entriesOf(node, id, 2)).length, 2, id);
  // Its first entry may have been lost with the node.
  t.true((await node.api('GET', `mail/trace?event=sent&limit=100`)).json.data.length >= 4, fourth);
});

ifPostfix('mail that the gateway hands to Postfix is followed by the id that Postfix answered', async t => {
  const postfix = await startPostfix(t, {isStarted: false});
  const node = await startMailNode(t, {config: {postfix: {log_file: postfix.logFile}}, domain: relayAll});
  await postfix.configure({relay_domains: 'example.com', relay_transport: `relay:[127.0.0.1]:${node.sink.server.port}`});
  await postfix.start();
  await node.updateDomain(node.domainId, {backend_servers: [`127.0.0.1:${postfix.port}`]});

  const own = queued(await node.send(raw));
  const [relayed, sent] = await entriesOf(node, own, 2);

  t.like(sent, {event: 'sent', queue_id: own, recipients: ['ben@example.com'], reply: '250 OK: message queued'});
  t.not(queued({text: relayed?.reply ?? ''}), own);
});

ifPostfix('a log that is away is a problem of the node, which ends when it is back', async t => {
  const node = await startPostfixNode(t, {milter: 'unix', isLogFollowed: true, settings: {maillog_file: ''}});
  const problems = async () => {
    const {json} = await node.api('GET', 'cluster/status');
    return json.data.peers[0].problems as {part: string; detail: string; refuses_mail: boolean}[];
  };

  await rm(node.postfix.logFile, {force: true});
  const [found] = await eventually(async () => (await problems()).length > 0 && problems());

  t.like(found, {part: 'postfix_log', refuses_mail: false});
  t.regex(found?.detail ?? '', /there is no such file/);
  t.false(found?.detail.includes('/'));
  await node.postfix.configure({maillog_file: node.postfix.logFile});
  await node.postfix.stop();
  await node.postfix.start();
  await eventually(async () => (await problems()).length === 0);
  t.pass();
});
