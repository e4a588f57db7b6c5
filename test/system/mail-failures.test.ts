// Failures of backends, clients and senders: nothing is lost, nothing is doubled, and nothing forbidden gets through.
import {readFileSync, writeFileSync} from 'node:fs';
import {request} from 'node:http';
import {join} from 'node:path';
import test, {type ExecutionContext as Context} from 'ava';
import {outputFormats} from '../../cli/output/output-format.ts';
import {formatHostPort, parseHostPort} from '../../shared/host-port.ts';
import {eventually, type Held, holdAll, type MailNode, relayAll, splitTrace, startMailNode} from '../helpers/mail-node.ts';
import {closedPort} from '../helpers/ports.ts';
import {politeScript, startScriptedServer} from '../helpers/scripted-server.ts';
import {connect, type Reply} from '../helpers/smtp-client.ts';
import type {SinkBehaviour} from '../helpers/smtp-sink.ts';
import {startProxy} from '../helpers/tcp-proxy.ts';
import {testOwnStore} from '../helpers/test-own-store.ts';

const line = ({code, text}: Reply) => `${code} ${text}`;
const plain = 'Subject: plain\r\n\r\nhello\r\n';

const startHolding = (t: Context, options: object = {}) => startMailNode(t, {domain: holdAll, ...options});

const holdOne = async (node: MailNode, to: string | string[] = 'ben@example.com'): Promise<Held> => {
  await node.send(plain, {to});
  return node.onlyHeld();
};

/** Checks that no part of an unacknowledged mail is left, once the node has cleaned up. */
const isClean = async (t: Context, node: MailNode): Promise<void> => {
  await eventually(async () => ((await node.spooled('tmp')).length === 0 ? true : undefined));
  t.deepEqual(await node.held(), []);
  t.deepEqual(await node.spooled('held'), []);
};

test('with the backend down a mail is not released, and still held', async t => {
  const node = await startHolding(t);
  const mail = await holdOne(node);
  await node.updateDomain(node.domainId, {backend_servers: [formatHostPort(await closedPort())]});

  const {status, json} = await node.act('release', mail);
  const byHand = await node.mfctl(['quarantine', 'release', `${mail.node_id}/${mail.queue_id}`]);
  const bulk = await node.api('POST', 'mail/quarantine/release', {
    body: {items: [{node_id: mail.node_id, queue_id: mail.queue_id}]},
  });
  const [audited] = (await node.api('GET', 'audit?limit=1')).json.data;
  await node.updateDomain(node.domainId, {backend_servers: [formatHostPort(node.sink.server)]});

  t.is(status, 502);
  t.is(json.error.code, 'delivery_failed');
  t.regex(json.error.fields[0].detail, /^451 /);
  t.is(byHand.code, 1);
  t.regex(byHand.stderr, /delivery_failed/);
  t.deepEqual(bulk.json.data[0].error.fields, json.error.fields);
  t.regex(audited.detail, /still held; ben@example\.com: 451 /);
  t.is((await node.held()).length, 1);
  t.is((await node.act('release', mail)).status, 200);
  t.is(node.sink.mails.length, 1);
});

test('a domain whose backend leads back to the gateway itself does not send its mail round in circles', async t => {
  const node = await startMailNode(t, {domain: holdAll});
  t.is((await node.send(plain)).code, 250);
  const roundabout = await startProxy(t, () => parseHostPort(node.smtp));
  await node.updateDomain(node.domainId, {...relayAll, backend_servers: [`127.0.0.1:${roundabout.port}`]});

  for (let n = 0; n < 3; n += 1) t.regex(line(await node.send(plain)), /^451 4\.4\.1 /);
  const released = await node.act('release', await node.onlyHeld());

  t.is(released.status, 502);
  const told = await eventually(() => node.log().match(/a node of this cluster.*backend could not be used/g) ?? undefined);
  t.is(told.length, 1);
  t.is((await node.send(plain, {to: 'x@strange.test'})).code, 550);
});

test('a release waits for a backend that is slow', async t => {
  const node = await startHolding(t);
  const mail = await holdOne(node);
  node.sink.behave({delayMs: 3000});

  const {status} = await node.act('release', mail);

  t.is(status, 200);
  t.is(node.sink.mails.length, 1);
});

const refusals: Record<string, {behaviour: SinkBehaviour; reply: RegExp}> = {
  '4xx at MAIL': {behaviour: {senders: {'ada@example.net': {code: 451, text: '4.3.0 later'}}}, reply: /^451 4\.3\.0 later/},
  '5xx at MAIL': {behaviour: {senders: {'ada@example.net': {code: 550, text: '5.1.8 no'}}}, reply: /^550 5\.1\.8 no/},
  '4xx at RCPT': {behaviour: {recipients: {'ben@example.com': {code: 452, text: '4.2.2 full'}}}, reply: /^452 4\.2\.2 full/},
  '5xx at RCPT': {behaviour: {recipients: {'ben@example.com': {code: 550, text: '5.1.1 gone'}}}, reply: /^550 5\.1\.1 gone/},
  '4xx after the final dot': {behaviour: {final: {code: 451, text: '4.6.0 busy'}}, reply: /^451 4\.6\.0 busy/},
  '5xx after the final dot': {behaviour: {final: {code: 554, text: '5.6.0 bad'}}, reply: /^554 5\.6\.0 bad/},
  'a connection cut within the mail': {behaviour: {drop: 'within-data'}, reply: /^451 /},
  'a connection cut after the final dot': {behaviour: {drop: 'after-final-dot'}, reply: /^451 /},
  'a connection cut at RCPT': {behaviour: {drop: 'on-rcpt'}, reply: /^451 /},
  'a connection cut at once': {behaviour: {drop: 'on-connect'}, reply: /^451 /},
};

test('whatever a backend says to a release, the mail is held until it says 250', async t => {
  const node = await startHolding(t);

  for (const [what, {behaviour, reply}] of Object.entries(refusals)) {
    node.sink.behave({});
    node.sink.mails.length = 0;
    const mail = await holdOne(node);
    node.sink.behave(behaviour);
    node.sink.dropConnections();

    const failed = await node.act('release', mail);
    const still = await node.held();
    node.sink.behave({});
    const done = await node.act('release', mail);

    t.is(failed.status, 502, what);
    t.regex(failed.json.error.fields[0].detail, reply, what);
    t.is(still.length, 1, what);
    t.is(done.status, 200, what);
    t.is(node.sink.mails.length, 1, what);
  }
});

test('whatever a backend says while a mail is relayed is what the sender hears', async t => {
  const node = await startMailNode(t, {domain: relayAll});

  for (const [what, {behaviour, reply}] of Object.entries(refusals)) {
    node.sink.behave(behaviour);
    node.sink.dropConnections();

    t.regex(line(await node.send(plain)), reply, what);
    t.is(node.sink.mails.length, 0, what);
  }
  await isClean(t, node);
});

test('a backend that refuses DATA gets no mail, and the mail is held', async t => {
  const {server, lines} = await startScriptedServer(t, said =>
    said === 'DATA' ? '554 5.5.1 no\r\n' : politeScript(said, null as never),
  );
  const node = await startHolding(t, {domain: {...holdAll, backend_servers: [formatHostPort(server)]}});
  const mail = await holdOne(node);

  const {status, json} = await node.act('release', mail);

  t.is(status, 502);
  t.regex(json.error.fields[0].detail, /^554 5\.5\.1 no/);
  t.false(lines.includes('hello'));
  t.is((await node.held()).length, 1);
});

test('recipients who have had a released mail are struck, and nobody gets it twice', async t => {
  const node = await startHolding(t);
  const mail = await holdOne(node, ['ann@example.com', 'ben@example.com', 'cat@example.com', 'dan@example.com']);
  node.sink.behave({
    recipients: {'ben@example.com': {code: 550, text: '5.1.1 unknown'}, 'dan@example.com': {code: 452, text: '4.2.2 full'}},
  });

  const first = await node.act('release', mail);
  const left = await node.onlyHeld();
  const ofStruck = await node.held('recipient=ann@example.com');
  const byHand = await node.mfctl(['quarantine', 'release', `${mail.node_id}/${mail.queue_id}`]);
  node.sink.behave({recipients: {'dan@example.com': {code: 452, text: '4.2.2 full'}}});
  const second = await node.act('release', mail);
  await node.stop();
  await node.start();
  node.sink.behave({});
  const third = await node.act('release', mail);

  t.is(first.status, 502);
  t.deepEqual(
    first.json.error.fields.map(({path, detail}: {path: string; detail: string}) => `${path} ${detail}`),
    [
      'ann@example.com 250 OK: message queued',
      'ben@example.com 550 5.1.1 unknown',
      'cat@example.com 250 OK: message queued',
      'dan@example.com 452 4.2.2 full',
    ],
  );
  t.deepEqual(left.recipients, ['ben@example.com', 'dan@example.com']);
  t.deepEqual(ofStruck, []);
  t.is(byHand.code, 1);
  t.regex(byHand.stderr, /ben@example\.com.*550 5\.1\.1 unknown/);
  t.is(second.status, 502);
  t.is(third.status, 200);
  t.deepEqual(
    node.sink.mails.map(({recipients}) => recipients),
    [['ann@example.com', 'cat@example.com'], ['ben@example.com'], ['dan@example.com']],
  );
});

testOwnStore('a mail that a failing disk has changed is not delivered as if it were the one that came', async t => {
  const node = await startHolding(t);
  const mail = await holdOne(node);
  const file = join(node.data, 'spool', 'held', mail.queue_id);
  const bytes = readFileSync(file);
  const changed = Buffer.from(bytes);
  changed.write('jello', bytes.indexOf('hello'));
  writeFileSync(file, changed);

  const refused = await node.act('release', mail);
  writeFileSync(file, bytes);
  const released = await node.act('release', mail);

  t.is(refused.status, 502);
  t.regex(refused.json.error.detail, /changed on the disk/);
  t.is(released.status, 200);
  t.true(node.sink.mails.map(({content}) => content.toString()).every(content => content.endsWith(plain)));
});

test('what is on its way when a node is told to stop is taken to its end', async t => {
  const node = await startHolding(t);
  const mail = await holdOne(node);
  const client = await connect(node.smtpPort);
  await client.cmd('EHLO client.test');
  await client.cmd('MAIL FROM:<ada@example.net>');
  await client.cmd('RCPT TO:<ben@example.com>');
  await client.cmd('DATA');
  client.write('Subject: on its way\r\n\r\n');
  const stepsBefore = node.sink.steps.length;
  node.sink.behave({delayMs: 500});
  const releasing = node.act('release', mail);
  await eventually(() => (node.sink.steps.length > stepsBefore ? true : undefined));

  const stopping = node.stop();
  await eventually(() => (node.log().includes('"stopping"') ? true : undefined));
  client.write('hello\r\n.\r\n');
  const reply = await client.reply();
  const released = await releasing;

  t.is(reply.code, 250);
  t.is(released.status, 200);
  t.is(await stopping, 0);
  await node.start();
  t.is((await node.onlyHeld()).subject, 'on its way');
  t.is(node.sink.mails.length, 1);
});

test('a mail of 100,000 parts is held, listed, shown in little memory, and released as it came', async t => {
  const node = await startHolding(t);
  const part = '--b\r\nContent-Type: text/plain\r\n\r\nx\r\n';
  const raw = Buffer.from(`Subject: parts\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${part.repeat(100_000)}--b--\r\n`);
  const before = await residentBytes(node);

  const reply = await node.send(raw);
  const mail = await node.onlyHeld();
  const shown = await node.mfctl(['quarantine', 'show', `${mail.node_id}/${mail.queue_id}`], {
    env: {NODE_OPTIONS: '--max-old-space-size=100'},
  });
  const after = await residentBytes(node);
  const released = await node.act('release', mail);

  t.is(reply.code, 250);
  t.is(shown.code, 0, shown.stderr);
  t.regex(shown.stdout, /Subject: parts/);
  t.true(after - before < 150 * 1024 * 1024, `${after - before} bytes more`);
  t.is(released.status, 200);
  t.true(splitTrace(node.sink.mails[0]?.content ?? Buffer.alloc(0)).rest.equals(raw));
});

test('headers without measure are refused or cut, and mail that went round too often is refused', async t => {
  const node = await startHolding(t);
  const received = (count: number) => 'Received: from a by b; Tue, 04 Nov 2025 09:12:44 +0100\r\n'.repeat(count);
  const longSubject = `Subject: ${'long \r\n '.repeat(29_000)}end\r\n\r\nhello\r\n`;

  t.is((await node.send(`${received(50)}${plain}`)).code, 250);
  t.regex(line(await node.send(`${received(51)}${plain}`)), /^554 5\.4\.6 /);
  t.regex(line(await node.send(`${received(60)}${plain}`)), /^554 5\.4\.6 /);
  t.true((await node.send(`${received(10_000)}${plain}`)).code >= 550);
  t.is((await node.send(longSubject)).code, 250);
  t.is((await node.send(`${'X-A: b\r\n'.repeat(30_000)}${plain}`)).code, 250);
  t.is((await node.send(`${'X-A: b\r\n'.repeat(100_000)}${plain}`)).code, 552);

  const mails = await node.held();
  t.is(mails.length, 3);
  t.true(mails.every(({subject}) => subject.length <= 1000));
  for (const {node_id, queue_id} of mails) {
    const {code, stderr} = await node.mfctl(['quarantine', 'show', `${node_id}/${queue_id}`]);
    t.is(code, 0, stderr);
  }
});

const nasty = [
  '\x1b]0;owned\x07\x1b[2J\x1b[31mred',
  '\x9b31mred\x9d0;title\x9c',
  '\x08\x08\x7f\x01\x02\x05\x0c',
  '=?utf-8?B?G1sySg==?= =?utf-8?Q?=1B]0;x=07=0D=0AInjected:_yes?=',
  '=?utf-8?Q?=E2=80=AEgnp.exe=E2=80=8B=E2=81=A6?=',
  '=?x-nonsense?B?////?= =?utf-8?Q?=ff=fe=80?= =?utf-8?B?!!!?= =?utf-8?Q?=ED=A0=80?=',
  '=?utf-8?Q?=F3=A0=81=81=F3=A0=81=BF?= =?utf-7?Q?+AG=41?=',
  '=?utf-16?B?2D/YPw==?= =?iso-2022-jp?B?GyRCGyRC?=',
  `${'=?utf-8?Q?'.repeat(50)}`,
  'a\u202egnp\u2066\u200b\ufeff\u2028\u2029b\u0085c',
  `a${'\u0301'.repeat(300)}`,
];

// All control and format characters except line feed and tab.
const unsafeText = /[\p{Cc}\p{Cf}\u2028\u2029](?<![\n\t])/u;

test('what a mail says of itself reaches a terminal only as harmless text', async t => {
  const node = await startHolding(t);
  for (const text of nasty) {
    const raw = `From: ${text} <a@b.test>\r\nSubject: ${text}\r\nX-Odd: ${text}\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n${text}\r\n--b\r\nContent-Disposition: attachment; filename="${text.replaceAll('"', '')}"\r\n\r\nx\r\n--b--\r\n`;
    t.is((await node.send(raw)).code, 250, JSON.stringify(text));
  }
  const mails = await node.held();

  t.is(mails.length, nasty.length);
  for (const format of outputFormats) {
    const {code, stdout, stderr} = await node.mfctl(['quarantine', 'list', '-o', format]);
    t.is(code, 0, stderr);
    t.notRegex(stdout.replaceAll('\r\n', '\n'), unsafeText, format);
  }
  for (const {node_id, queue_id, subject} of mails)
    for (const format of outputFormats) {
      const {code, stdout, stderr} = await node.mfctl(['quarantine', 'show', `${node_id}/${queue_id}`, '-o', format]);
      t.is(code, 0, stderr);
      t.notRegex(stdout.replaceAll('\r\n', '\n') + stderr, unsafeText, `${format} ${JSON.stringify(subject)}`);
      t.notRegex(stdout, /^Injected/m);
    }
});

test('bare CR, bare LF and NUL are refused, and smuggle no second mail', async t => {
  const node = await startMailNode(t, {domain: relayAll});
  const second = 'MAIL FROM:<eve@example.net>\r\nRCPT TO:<cat@example.com>\r\nDATA\r\nSubject: smuggled\r\n\r\nx\r\n.\r\n';
  const ends = ['\n.\n', '\n.\r\n', '\r.\r', '\r\n.\n', '\r.\r\n', '\r\n.\r', '\r\r\n.\r\r\n', '\r\n\0.\r\n', '\n\n.\r\n'];

  for (const end of [...ends, 'a\0b', 'a\rb', 'a\nb']) {
    const client = await connect(node.smtpPort);
    await client.cmd('EHLO client.test');
    await client.cmd('MAIL FROM:<ada@example.net>');
    await client.cmd('RCPT TO:<ben@example.com>');
    const reply = await client.data(`Subject: x\r\n\r\nhello${end}${second}\r\n.\r\n`, {isRaw: true});
    client.destroy();

    t.regex(line(reply), /^554 5\.6\.0 /, JSON.stringify(end));
  }
  t.deepEqual(node.sink.mails, []);
  t.false(node.sink.steps.some(step => step.includes('eve') || step.includes('cat')));
  await isClean(t, node);
});

test('no address says more to the backend than an address', async t => {
  const node = await startMailNode(t, {domain: relayAll});
  const addresses = [
    'ben@example.com> <cat@example.com',
    'ben@example.com>\rRCPT TO:<cat@example.com',
    '"ben\r\nRSET"@example.com',
    'ben\0@example.com',
    'ben@example.com NOTIFY=NEVER',
    'ben%elsewhere.test@example.com@example.com',
    '"ben> SIZE=1"@example.com',
    'ben@[127.0.0.1]',
    'ben@exa mple.com',
    '\u202eben@example.com',
  ];

  for (const address of addresses) {
    const client = await connect(node.smtpPort);
    await client.cmd('EHLO client.test');
    await client.cmd('MAIL FROM:<ada@example.net>');
    const {code} = await client.cmd(`RCPT TO:<${address}>`);
    client.destroy();
    t.true(code >= 500, `${JSON.stringify(address)}: ${code}`);
  }
  // A source route is ignored (RFC 5321 appendix C).
  t.is((await node.send(plain, {to: '@elsewhere.test:ben@example.com'})).code, 250);
  t.deepEqual(
    node.sink.steps.filter(step => step.startsWith('RCPT')),
    ['RCPT ben@example.com'],
  );
});

test('a client that vanishes halfway leaves nothing behind', async t => {
  const node = await startHolding(t);

  for (const sizeBytes of [0, 100, 100_000, 3_000_000]) {
    const client = await connect(node.smtpPort);
    await client.cmd('EHLO client.test');
    await client.cmd('MAIL FROM:<ada@example.net>');
    await client.cmd('RCPT TO:<ben@example.com>');
    await client.cmd('DATA');
    client.write(`Subject: halfway\r\n\r\n${`${'x'.repeat(98)}\r\n`.repeat(sizeBytes / 100)}`);
    if (sizeBytes > 1_000_000) await eventually(async () => ((await node.spooled('tmp')).length > 0 ? true : undefined));
    client.destroy();
  }

  await isClean(t, node);
  t.is(node.sink.mails.length, 0);
  t.is((await node.send(plain)).code, 250);
});

test('a hundred clients at once each have their mail held', async t => {
  const node = await startHolding(t);

  const replies = await Promise.all(
    Array.from({length: 100}, (_, n) => node.send(`Subject: client ${n}\r\n\r\n${'x\r\n'.repeat(n * 300)}`)),
  );

  t.true(replies.every(({code}) => code === 250));
  const ids = replies.map(({text}) => /queued as (\w+)/.exec(text)?.[1]).sort();
  t.deepEqual((await node.held()).map(({queue_id}) => queue_id).sort(), ids as string[]);
  t.deepEqual((await node.spooled('held')).sort(), ids as string[]);
  t.deepEqual(await node.spooled('tmp'), []);
});

test('a node that is told to stop does so in time, whatever hangs', async t => {
  const mute = (await startScriptedServer(t, said => (said.startsWith('RCPT') && mute.isMute ? '' : undefined))) as Awaited<
    ReturnType<typeof startScriptedServer>
  > & {isMute?: boolean};
  const node = await startHolding(t, {domain: {...holdAll, backend_servers: [formatHostPort(mute.server)]}});
  const mail = await holdOne(node);
  mute.isMute = true;
  const releasing = node.act('release', mail).catch(() => undefined);
  await eventually(() => (mute.lines.filter(said => said.startsWith('RCPT')).length > 1 ? true : undefined));
  const client = await connect(node.smtpPort);
  await client.cmd('EHLO client.test');

  const began = Date.now();
  const stopping = node.stop();
  const unready = await eventually(async () => {
    const answer = await fetch(`${node.metrics_url}/readyz`);
    return answer.status === 503 ? answer.text() : undefined;
  });
  const code = await stopping;
  const took = Date.now() - began;
  client.destroy();
  await releasing;
  await node.start();

  t.is(unready, 'the node is stopping\n');
  t.is(code, 0);
  t.true(took < 10_000, `${took} ms`);
  t.is((await node.held()).length, 1);
});

const residentBytes = async ({metrics_url}: MailNode): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(new URL('/metrics', metrics_url), response => {
      let text = '';
      response.on('data', chunk => (text += chunk));
      response.on('end', () => resolve(Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1])));
    });
    sent.on('error', reject);
    sent.end();
  });
