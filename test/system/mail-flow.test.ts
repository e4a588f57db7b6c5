// Mail through the real programs: held, inspected, released, relayed, without a change of a single byte.
import {readdirSync, readFileSync} from 'node:fs';
import test, {type ExecutionContext} from 'ava';
import {holdAll, type MailNode, onTheWire, relayAll, splitTrace, startMailNode} from '../helpers/mail-node.ts';
import {connect} from '../helpers/smtp-client.ts';
import type {SinkMail} from '../helpers/smtp-sink.ts';

interface Sample {
  name: string;
  /** The bytes that were sent. */
  bytes: Buffer;
  from?: string;
  to?: string;
  parameters?: string;
}

const filesIn = (folder: URL): Sample[] =>
  readdirSync(folder)
    .filter(name => name.endsWith('.eml'))
    .map(name => ({name, bytes: onTheWire(readFileSync(new URL(name, folder)))}));

const foundFolder = new URL('../../../shared/mail/', import.meta.url);
const foundFiles = (): Sample[] => {
  try {
    return filesIn(foundFolder);
  } catch {
    return [];
  }
};

const base64Lines = (sizeBytes: number): string =>
  `${'TWFpbCBhcyBiYXNlNjQsIG9uZSBsaW5lIGFmdGVyIHRoZSBvdGhlci4gTWFpbCBhcyBiYXNlNjQs\r\n'.repeat(sizeBytes / 78)}`;

const wired = (text: string): Buffer => Buffer.from(text, 'utf8');

const madeUp: Sample[] = [
  {name: 'dots', bytes: wired('Subject: dots\r\n\r\n.\r\n..\r\n...\r\n.x\r\nx.\r\n.\r\n\r\n.\r\n')},
  {name: 'dots at once', bytes: wired('.\r\n..\r\n')},
  {name: 'empty body', bytes: wired('Subject: empty body\r\n\r\n')},
  {name: 'header only', bytes: wired('Subject: header only\r\nTo: ben@example.com\r\n')},
  {name: 'nothing at all', bytes: Buffer.alloc(0)},
  {name: 'blank lines only', bytes: wired('\r\n\r\n\r\n')},
  {name: 'body only', bytes: wired('\r\nno header at all\r\n')},
  {name: 'null sender', bytes: wired('Subject: failure notice\r\n\r\nbounce\r\n'), from: ''},
  {name: 'trailing blanks', bytes: wired('Subject:  two  blanks \r\n\r\n  x  \r\n\t\r\n')},
  {name: 'line of 998', bytes: wired(`Subject: long line\r\n\r\n${'x'.repeat(998)}\r\n.${'y'.repeat(997)}\r\n`)},
  {
    name: '8 bit',
    bytes: Buffer.concat([
      wired('Subject: Gr\xfc\xdfe\r\n\r\n'),
      Buffer.from(Array.from({length: 128}, (_, n) => 128 + n)),
      wired('\r\n'),
    ]),
    parameters: 'BODY=8BITMIME',
  },
  {
    name: 'SMTPUTF8',
    bytes: wired('Subject: Grüße 你好 🙂\r\nFrom: zoë@exämple.net\r\n\r\nGrüße\r\n'),
    from: 'zoë@exämple.net',
    to: 'björn@example.com',
    parameters: 'SMTPUTF8 BODY=8BITMIME',
  },
  {
    name: '1 MB of base64',
    bytes: wired(`Subject: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64Lines(1024 * 1024)}`),
  },
  {name: '25 MB', bytes: wired(`Subject: very big\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64Lines(25 * 1024 * 1024)}`)},
];

const ownSamples = filesIn(new URL('../samples/', import.meta.url));

const sendSample = ({send}: MailNode, {bytes, from, to, parameters}: Sample) =>
  send(bytes, {...(from !== undefined && {from}), ...(to !== undefined && {to}), ...(parameters !== undefined && {parameters})});

/** `t.deepEqual` of two buffers of 25 MB would print them. */
const isSame = (t: ExecutionContext, found: Buffer | undefined, wanted: Buffer, what: string): void => {
  t.true(found?.equals(wanted), `${what}: ${found?.length} bytes, not the ${wanted.length} that were sent`);
};

/** The node's one Received field, and exactly the sent bytes. */
const isOurs = (t: ExecutionContext, found: Buffer, {bytes, name}: Sample, queueId: string): void => {
  const {trace, rest} = splitTrace(found);
  t.regex(trace, new RegExp(`\\bid\\s+${queueId}\\b`), name);
  isSame(t, rest, bytes, name);
};

// All control and format characters except line feed and tab.
const unsafeText = /[\p{Cc}\p{Cf}](?<![\n\t])/u;

const holdAndRelease = async (t: ExecutionContext, node: MailNode, sample: Sample): Promise<void> => {
  const {name} = sample;
  node.sink.mails.length = 0;

  const reply = await sendSample(node, sample);
  t.is(reply.code, 250, `${name}: ${reply.text}`);
  const mail = await node.onlyHeld();
  const content = await node.body(mail);
  const shown = await node.mfctl(['quarantine', 'show', `${mail.node_id}/${mail.queue_id}`]);
  const released = await node.act('release', mail);

  t.like(mail, {
    sender: (sample.from ?? 'ada@example.net').replace('exämple', 'xn--exmple-cua'),
    recipients: [sample.to ?? 'ben@example.com'],
  });
  t.is(mail.size_bytes, content.length, name);
  isOurs(t, content, sample, mail.queue_id);
  t.is(shown.code, 0, `${name}: ${shown.stderr}`);
  t.true(shown.stdout.includes(mail.queue_id));
  t.notRegex(shown.stdout + shown.stderr, unsafeText, name);
  t.is(released.status, 200, `${name}: ${released.body}`);
  t.is(released.json.data.state, 'released', name);
  t.is(node.sink.mails.length, 1, name);
  const [delivered] = node.sink.mails as [SinkMail];
  t.true(delivered.content.equals(content), `${name}: what is delivered is what is shown`);
  t.is(delivered.isUtf8, sample.parameters?.includes('SMTPUTF8') ?? false, name);
  t.is(delivered.isEightBit, sample.parameters?.includes('8BITMIME') ?? false, name);
  t.deepEqual(await node.held(), [], name);
};

const relayed = async (t: ExecutionContext, node: MailNode, sample: Sample): Promise<void> => {
  node.sink.mails.length = 0;

  const reply = await sendSample(node, sample);
  // The backend has received it before the client gets its reply.
  const delivered = node.sink.mails.at(-1);

  t.is(reply.code, 250, `${sample.name}: ${reply.text}`);
  t.is(node.sink.mails.length, 1, sample.name);
  isOurs(t, delivered?.content ?? Buffer.alloc(0), sample, /queued as (\w+)/.exec(reply.text)?.[1] ?? '');
};

test('every sample is held, shown and released with not one byte changed', async t => {
  const node = await startMailNode(t, {domain: holdAll});

  for (const sample of ownSamples) await holdAndRelease(t, node, sample);
  t.deepEqual(await node.spooled('held'), []);
  t.deepEqual(await node.spooled('tmp'), []);
});

test('mail from the wild is held, shown and released with not one byte changed', async t => {
  const samples = foundFiles();
  if (samples.length === 0) t.log('skipped: there is no folder ../shared/mail');
  const node = await startMailNode(t, {domain: holdAll});

  for (const sample of samples) await holdAndRelease(t, node, sample);
  t.deepEqual(await node.held(), []);
});

test('mail of odd form and of any size is held, shown and released with not one byte changed', async t => {
  const node = await startMailNode(t, {domain: holdAll});

  for (const sample of madeUp) await holdAndRelease(t, node, sample);
  t.deepEqual(await node.spooled('held'), []);
  t.deepEqual(await node.spooled('tmp'), []);
});

test('every mail below the threshold is at the backend, unchanged, before the client gets its 250', async t => {
  const node = await startMailNode(t, {domain: relayAll});

  for (const sample of [...ownSamples, ...foundFiles(), ...madeUp]) await relayed(t, node, sample);
  t.deepEqual(await node.held(), []);
  t.deepEqual(await node.spooled('held'), []);
  t.deepEqual(await node.spooled('tmp'), []);
});

test('the default thresholds relay below 6, hold from 6 and refuse from 15', async t => {
  const node = await startMailNode(t);
  const scored = (score: number) => `X-Spam-Score: ${score}\r\nSubject: ${score}\r\n\r\nhello\r\n`;

  const replies = [];
  for (const score of [5.99, 6, 14.99, 15]) replies.push(await node.send(scored(score)));

  t.deepEqual(
    replies.map(({code}) => code),
    [250, 250, 250, 550],
  );
  t.regex(replies[3]?.text ?? '', /^5\.7\.1 /);
  t.deepEqual((await node.held()).map(({subject}) => subject).sort(), ['14.99', '6']);
  t.is(node.sink.mails.length, 1);
  t.deepEqual((await node.spooled('held')).length, 2);
  t.deepEqual(await node.spooled('tmp'), []);
});

test('the mails of one session are held and relayed each as its own', async t => {
  const node = await startMailNode(t);
  const client = await connect(node.smtpPort);
  t.teardown(() => client.destroy());
  await client.cmd('EHLO client.test');

  const replies = [];
  for (let n = 0; n < 20; n += 1) {
    await client.cmd('MAIL FROM:<ada@example.net>');
    await client.cmd('RCPT TO:<ben@example.com>');
    replies.push(await client.data(`${n % 2 ? 'X-Spam-Score: 8\r\n' : ''}Subject: n${n}\r\n\r\n${n}\r\n`));
  }

  t.is(new Set(replies.map(({text}) => /queued as (\w+)/.exec(text)?.[1])).size, 20);
  t.is((await node.held()).length, 10);
  t.is(node.sink.mails.length, 10);
  // One connection, unless a mail arrives while the connection is still being reset after the one before.
  t.true(node.sink.connectionCount() < 5);
});
