import {once} from 'node:events';
import {type AddressInfo, createConnection, createServer} from 'node:net';
import {connect as connectTls} from 'node:tls';
import test, {type ExecutionContext} from 'ava';
import {Fault} from '../../../../shared/fault.ts';
import {selfSigned} from '../../../helpers/certificate.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {useFakeClock} from '../../../helpers/fake-clock.ts';
import {judgement, startTestGateway, type TestGatewayOptions} from '../../../helpers/gateway.ts';
import {pause} from '../../../helpers/pause.ts';
import {closedPort} from '../../../helpers/ports.ts';
import {startScriptedServer} from '../../../helpers/scripted-server.ts';
import {connect, sendMail} from '../../../helpers/smtp-client.ts';
import {startSmtpSink} from '../../../helpers/smtp-sink.ts';

const open = async (t: ExecutionContext, options: TestGatewayOptions = {}) => {
  const gateway = await startTestGateway(t, options);
  const client = await connect(gateway.port);
  t.teardown(() => client.destroy());
  await client.cmd('EHLO client.test');
  return {gateway, client, sink: gateway.sink};
};

const line = (reply: {code: number; text: string}) => `${reply.code} ${reply.text}`;
const raw = 'Subject: x\r\n\r\nhello\r\n';
const big = `Subject: big\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(6000)}`;

test('a mail is at the backend, with one more header, before the client gets its 250', async t => {
  const {gateway, client, sink} = await open(t);

  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');
  const reply = await client.data(raw);

  t.is(line(reply), '250 2.0.0 Ok: queued as Q1x00000');
  t.is(sink.mails.length, 1);
  t.like(sink.mails[0], {sender: 'a@strange.test', recipients: ['ben@one.test']});
  t.is(sink.mails[0]?.content.toString(), `Received: by gate.test id Q1x00000\r\n${raw}`);
  t.deepEqual(gateway.verdicts, ['relayed']);
});

test.serial('the greeting waits for nothing, and a client that talks before it is told so', async t => {
  const gateway = await startTestGateway(t);
  useFakeClock(t);
  const {greeting} = await connect(gateway.port);
  const hasty = createConnection({host: '127.0.0.1', port: gateway.port});
  t.teardown(() => hasty.destroy());
  hasty.write('EHLO hasty.test\r\n');
  const [answer] = (await once(hasty, 'data')) as [Buffer];

  t.is(greeting.code, 220);
  t.regex(answer.toString(), /^421 4\.7\.0 You talk too soon\r\n/);
});

test('EHLO offers what is kept and nothing else', async t => {
  const gateway = await startTestGateway(t);
  const client = await connect(gateway.port);

  const {text} = await client.cmd('EHLO client.test');

  t.regex(line(client.greeting), /^220 gate\.test ESMTP/);
  t.deepEqual(text.split('\n').sort(), [
    '8BITMIME',
    'ENHANCEDSTATUSCODES',
    'PIPELINING',
    'SIZE 1000000',
    'SMTPUTF8',
    'STARTTLS',
    'gate.test',
  ]);
  t.is((await client.cmd('AUTH PLAIN AGEAYg==')).code, 500);
});

test('the keyword of the cluster is in every answer to EHLO, once and on a line of its own, and in no other answer', async t => {
  const keyword = 'X-MFD-0123456789abcdef';
  const gateway = await startTestGateway(t, {needs: {keyword}});
  const client = await connect(gateway.port);
  const others = [];

  const clear = await client.cmd('EHLO client.test');
  others.push(await client.cmd('HELO client.test'), await client.cmd('HELP'));
  await client.startTls();
  const secured = await client.cmd('EHLO client.test');
  others.push(await client.cmd('NOOP'), await client.cmd('MAIL FROM:<a@strange.test>'));

  for (const {code, text} of [clear, secured]) {
    t.is(code, 250);
    t.deepEqual(
      text.split('\n').filter(one => one.includes(keyword)),
      [keyword],
    );
    t.true(text.split('\n').includes('SMTPUTF8'));
  }
  for (const {text} of others) t.false(text.includes(keyword), text);
});

test('a client has the name that was found for it, and none where nothing is found or nobody answers', async t => {
  const hostnameWith = async (find: (ip: string) => Promise<string | undefined>) => {
    const {gateway, client} = await open(t, {needs: {clientNames: {find}}});
    await client.cmd('MAIL FROM:<a@strange.test>');
    await client.cmd('RCPT TO:<ben@one.test>');
    await client.data(raw);
    return gateway.judged[0]?.client.hostname;
  };

  t.is(await hostnameWith(async ip => `of-${ip}`), 'of-127.0.0.1');
  t.is(await hostnameWith(async () => undefined), null);
  t.is(await hostnameWith(() => new Promise(() => undefined)), null);
});

test('the backend is asked at RCPT, and an unknown user refused there in its words', async t => {
  const {client, sink} = await open(t, {
    sink: {
      recipients: {
        'nobody@one.test': {code: 550, text: '5.1.1 <nobody@one.test>: no such user'},
        'full@one.test': {code: 452, text: 'mailbox full'},
      },
    },
  });
  await client.cmd('MAIL FROM:<a@strange.test>');

  const unknown = await client.cmd('RCPT TO:<nobody@one.test>');
  const full = await client.cmd('RCPT TO:<full@one.test>');
  const known = await client.cmd('RCPT TO:<ben@one.test>');
  await client.data(raw);

  t.is(line(unknown), '550 5.1.1 <nobody@one.test>: no such user');
  t.is(line(full), '452 4.0.0 mailbox full');
  t.is(line(known), '250 2.1.5 Accepted');
  t.deepEqual(
    sink.mails.map(mail => mail.recipients),
    [['ben@one.test']],
  );
});

test('a recipient of no domain of ours is refused without asking anybody', async t => {
  const {client, sink} = await open(t);
  await client.cmd('MAIL FROM:<a@strange.test>');

  t.is(line(await client.cmd('RCPT TO:<ben@elsewhere.test>')), '550 5.7.1 Relaying denied');
  t.is(sink.connectionCount(), 0);
});

test('with the backend down the recipient is deferred, with a second one the mail goes there', async t => {
  const down = await closedPort();
  const second = await startSmtpSink(t);
  const [without, withIt] = [await open(t, {servers: [down]}), await open(t, {servers: [down, second.server]})];
  for (const {client} of [without, withIt]) await client.cmd('MAIL FROM:<a@strange.test>');

  const deferred = await without.client.cmd('RCPT TO:<ben@one.test>');
  await withIt.client.cmd('RCPT TO:<ben@one.test>');
  const relayed = await withIt.client.data(raw);

  t.regex(line(deferred), /^451 4\.4\.1 /);
  t.is(relayed.code, 250);
  t.is(second.mails.length, 1);
});

test('a second recipient domain is told to come apart, and the first still gets its mail', async t => {
  const {client, sink} = await open(t);
  await client.cmd('MAIL FROM:<a@strange.test>');

  await client.cmd('RCPT TO:<ben@one.test>');
  const other = await client.cmd('RCPT TO:<cat@two.test>');
  await client.cmd('RCPT TO:<dan@ONE.test>');
  await client.data(raw);

  t.regex(line(other), /^452 4\.5\.3 /);
  t.deepEqual(
    sink.mails.map(mail => mail.recipients),
    [['ben@one.test', 'dan@one.test']],
  );
});

test('a refused recipient does not bind the mail to its domain', async t => {
  const {client, sink} = await open(t, {sink: {recipients: {'no@one.test': {code: 550, text: '5.1.1 no'}}}});
  await client.cmd('MAIL FROM:<a@strange.test>');

  await client.cmd('RCPT TO:<no@one.test>');
  t.is((await client.cmd('RCPT TO:<cat@two.test>')).code, 250);
  await client.data(raw);

  t.deepEqual(
    sink.mails.map(mail => mail.recipients),
    [['cat@two.test']],
  );
});

test('outbound mail may go to any recipients at once', async t => {
  const {client, sink} = await open(t, {needs: {isTrusted: () => true}});
  await client.cmd('MAIL FROM:<me@out.test>');

  for (const recipient of ['a@x.test', 'b@y.test']) t.is((await client.cmd(`RCPT TO:<${recipient}>`)).code, 250);
  await client.data(raw);

  t.deepEqual(
    sink.mails.map(mail => mail.recipients),
    [['a@x.test', 'b@y.test']],
  );
});

test('a recipient given twice gets one mail', async t => {
  const {client, sink} = await open(t);
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');
  t.is((await client.cmd('RCPT TO:<ben@one.test>')).code, 250);
  await client.data(raw);

  t.deepEqual(
    sink.steps.filter(step => step.startsWith('RCPT')),
    ['RCPT ben@one.test'],
  );
});

test('addresses that are none are refused with their own codes and reach no backend', async t => {
  const {client, sink} = await open(t);

  for (const sender of ['<a b@x.test>', '<a@-x>', '<@x.test>', 'a@x.test', '<a@x.test> <b@x.test>extra'])
    t.regex(line(await client.cmd(`MAIL FROM:${sender}`)), /^(501 5\.1\.7|555 5\.5\.4) /, sender);
  t.regex(line(await client.cmd('MAIL FROM:<a@strange.test> FOO=bar')), /^555 5\.5\.4 /);
  await client.cmd('MAIL FROM:<a@strange.test>');
  for (const recipient of [
    '<>',
    '<ben>',
    '<ben@one.test\x01>',
    '<ben@one.test\rRCPT TO:<x@one.test>',
    '<ben;@one.test>',
    '<"a\\\0"@one.test>',
  ])
    t.regex(line(await client.cmd(`RCPT TO:${recipient}`)), /^501 5\.1\.3 /, recipient);
  client.write(Buffer.concat([Buffer.from('RCPT TO:<b'), Buffer.from([0xff]), Buffer.from('n@one.test>\r\n')]));
  t.regex(line(await client.reply()), /^501 5\.1\.3 /);
  t.regex(line(await client.cmd('RCPT TO:<ben@one.test> NOTIFY=NEVER')), /^555 5\.5\.4 /);

  t.is(sink.connectionCount(), 0);
});

/** Addresses that a backend might route to another host, or to a program or a file. */
const instructions = [
  'someone%outside.net@one.test',
  'victim!me@one.test',
  'victim@outside.net@one.test',
  '"victim@outside.net"@one.test',
  '"someone%outside.net"@ONE.test',
  '"some\\%one"@one.test',
  '"a\\@b c"@one.test',
  '|prog@one.test',
  '"|prog arg"@one.test',
  '"\\|prog"@one.test',
  '/etc/passwd@one.test',
  '"/etc/passwd"@one.test',
  '@a.test,@b.test:x%y@one.test',
  '%@closed.test',
];

test('a local part that a backend might obey is refused from strangers, quoted or not, and the mail goes to the other recipients', async t => {
  const {client, sink} = await open(t);
  await client.cmd('MAIL FROM:<a@strange.test>');

  for (const recipient of instructions) t.regex(line(await client.cmd(`RCPT TO:<${recipient}>`)), /^550 5\.1\.3 /, recipient);
  t.regex(line(await client.cmd('RCPT TO:<x%y@strange.test>')), /^550 5\.7\.1 /);
  t.is((await client.cmd('RCPT TO:<ben+a/b|c@one.test>')).code, 250);
  await client.data(raw);

  t.deepEqual(
    sink.mails.map(mail => mail.recipients),
    [['ben+a/b|c@one.test']],
  );
});

test('a trusted client may write a local part that a backend obeys', async t => {
  const {client, sink} = await open(t, {needs: {isTrusted: () => true}});
  await client.cmd('MAIL FROM:<a@strange.test>');

  t.is((await client.cmd('RCPT TO:<someone%outside.net@one.test>')).code, 250);
  t.is((await client.cmd('RCPT TO:<victim!me@one.test>')).code, 250);
  await client.data(raw);

  t.deepEqual(sink.mails[0]?.recipients, ['someone%outside.net@one.test', 'victim!me@one.test']);
});

test('a bounce has no sender and is taken', async t => {
  const {client, sink} = await open(t);
  await client.cmd('MAIL FROM:<>');
  await client.cmd('RCPT TO:<ben@one.test>');
  await client.data(raw);

  t.is(sink.mails[0]?.sender, '');
});

test('a sender of a lone host, an address literal or a long bounce address is taken and passed on', async t => {
  const {client, sink} = await open(t);
  const senders = ['root@vm', 'root@localhost', 'root@[192.0.2.7]', `bounces+${'x'.repeat(100)}@strange.test`];

  for (const sender of senders) {
    t.is((await client.cmd(`MAIL FROM:<${sender}>`)).code, 250, sender);
    t.is((await client.cmd('RCPT TO:<ben@one.test>')).code, 250, sender);
    t.is((await client.data(raw)).code, 250, sender);
  }

  t.deepEqual(
    sink.mails.map(mail => mail.sender),
    senders,
  );
});

test('senders and recipients that other servers take reach the backend as they came', async t => {
  const {server, lines} = await startScriptedServer(t, () => undefined);
  const {client, gateway} = await open(t, {servers: [server]});
  const senders = [
    'a..b@strange.test',
    'ab.@strange.test',
    '"odd user"@strange.test',
    'a@foo_bar.test',
    '"\\"a:b\\\\\\""@strange.test',
  ];
  const recipients = ['a..b@one.test', '.ab.@one.test', '"odd  user"@one.test', '"a > b"@one.test', '"\\"a, b\\""@one.test'];

  for (const sender of senders) {
    t.is((await client.cmd(`MAIL FROM: <${sender}> SIZE=100 BODY=8BITMIME`)).code, 250, sender);
    const replies = [];
    for (const recipient of recipients) replies.push(await client.cmd(`rcpt to:<${recipient}>`));
    t.deepEqual(
      replies.map(({code}) => code),
      [250, 250, 250, 501, 250],
    );
    t.is((await client.data(raw)).code, 250);
  }

  const taken = recipients.filter(recipient => !recipient.includes('>'));
  t.deepEqual(
    lines.filter(line => /^(MAIL|RCPT)/.test(line)),
    senders.flatMap(sender => [`MAIL FROM:<${sender}> BODY=8BITMIME`, ...taken.map(recipient => `RCPT TO:<${recipient}>`)]),
  );
  t.deepEqual(
    gateway.judged.map(({envelope}) => envelope.sender),
    senders,
  );
});

test('postmaster without a domain is refused with what to do instead, before a domain is asked, also from trusted clients', async t => {
  for (const isTrusted of [false, true]) {
    const {client, sink} = await open(t, {needs: {isTrusted: () => isTrusted}});
    t.is((await client.cmd('RCPT TO:<postmaster>')).code, 503);
    await client.cmd('MAIL FROM:<me@out.test>');

    for (const name of ['postmaster', 'Postmaster', 'POSTMASTER'])
      t.regex(line(await client.cmd(`RCPT TO:<${name}>`)), /^550 5\.1\.1 .*postmaster@DOMAIN/, name);
    t.is(sink.connectionCount(), 0);
    t.is((await client.cmd('RCPT TO:<Postmaster@one.test>')).code, 250);
  }
});

test('with SMTPUTF8 a mail goes to a backend without it, unless an address or a field of its header is not ASCII', async t => {
  const {client, sink} = await open(t, {sink: {hasUtf8: false}});
  const send = async (sender: string, recipient: string, content: string) => {
    const replies = [
      await client.cmd(`MAIL FROM:<${sender}> BODY=8BITMIME SMTPUTF8`),
      await client.cmd(`RCPT TO:<${recipient}>`),
      await client.data(content),
    ];
    await client.cmd('RSET');
    return line(replies.find(({code}) => code >= 400) ?? {code: 250, text: ''});
  };
  await client.cmd('EHLO büro.client.test');

  t.is(await send('a@strange.test', 'ben@one.test', `${raw}ä\r\n`), '250 ');
  t.is(await send('a@bücher.test', 'ben@one.test', raw), '250 ');
  t.is(await send('a@strange.test', 'ben@ONE.test', 'no header\r\n'), '250 ');
  t.regex(await send('jürgen@strange.test', 'ben@one.test', raw), /^550 5\.6\.7 /);
  t.regex(await send('a@strange.test', 'zoë@one.test', raw), /^550 5\.6\.7 /);
  t.regex(await send('a@strange.test', 'ben@one.test', 'Subject: ä\r\n\r\n'), /^550 5\.6\.7 /);
  t.regex(await send('a@strange.test', 'ben@one.test', `X-Big: ${'x\r\n '.repeat(25_000)}ä\r\n\r\n`), /^550 5\.6\.7 /);

  t.deepEqual(
    sink.mails.map(({sender, isUtf8, isEightBit}) => [sender, isUtf8, isEightBit]),
    [
      ['a@strange.test', false, true],
      // smtp-server writes an A-label as a U-label.
      ['a@bücher.test', false, true],
      ['a@strange.test', false, true],
    ],
  );
});

test('without SMTPUTF8 a header that is not ASCII goes to any backend as it is', async t => {
  const {client, sink} = await open(t, {sink: {hasUtf8: false}});
  const odd = Buffer.from('Subject: \xe4 caf\xc3\xa9\r\n\r\nhello\r\n', 'latin1');
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');

  t.is((await client.data(odd)).code, 250);
  t.true(sink.mails[0]?.content.includes(odd));
});

test('SMTPUTF8 goes through to the backend, and addresses that need it are refused without it', async t => {
  const {client, sink, gateway} = await open(t);

  t.regex(line(await client.cmd('MAIL FROM:<jürgen@strange.test>')), /^553 5\.6\.7 /);
  await client.cmd('MAIL FROM:<a@strange.test>');
  t.regex(line(await client.cmd('RCPT TO:<zoë@one.test>')), /^553 5\.6\.7 /);
  await client.cmd('RSET');
  await client.cmd('MAIL FROM:<jürgen@strange.test> SMTPUTF8 BODY=8BITMIME');
  await client.cmd('RCPT TO:<zoë@one.test>');
  t.is((await client.data('Subject: ä\r\n\r\n')).code, 250);

  t.like(sink.mails[0], {sender: 'jürgen@strange.test', recipients: ['zoë@one.test'], isUtf8: true, isEightBit: true});
  t.like(gateway.judged[0]?.client, {protocol: 'UTF8SMTP', helo: 'client.test', ip: '127.0.0.1', hostname: null});
});

test('a mail of the same session after a refused one with SMTPUTF8 does not inherit it', async t => {
  const {client, sink} = await open(t);
  await client.cmd('MAIL FROM:<a@-nohost> SMTPUTF8 BODY=8BITMIME');
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');
  await client.data(raw);

  t.like(sink.mails[0], {isUtf8: false, isEightBit: false});
});

test('a suspicious mail is held, said to be queued like any other, and the backend gets nothing', async t => {
  const {gateway, client, sink} = await open(t);
  gateway.intake.judge = async () => judgement('hold');
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');

  const reply = await client.data(`${raw}.\r\n..\r\n`);

  t.is(line(reply), '250 2.0.0 Ok: queued as Q1x00000');
  t.is(gateway.held[0]?.content, `${raw}.\r\n..\r\n`);
  t.deepEqual(gateway.held[0]?.mail.envelope.recipients, ['ben@one.test']);
  t.false(sink.steps.includes('DATA'));
  t.deepEqual(gateway.verdicts, ['held']);
});

test('spam is refused without saying what gave it away', async t => {
  const {gateway, client, sink} = await open(t);
  gateway.intake.judge = async () => judgement('reject');
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');

  const reply = await client.data(raw);

  t.regex(line(reply), /^550 5\.7\.1 .*spam score/);
  t.notRegex(reply.text, /SECRET_SYMBOL/);
  t.false(sink.steps.includes('DATA'));
  t.deepEqual(gateway.verdicts, ['rejected']);
});

test('mail that a filter blocks is not said to have scored too high', async t => {
  const {gateway, client} = await open(t);
  gateway.intake.judge = async () => judgement('block');
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');

  const reply = await client.data(raw);

  t.regex(line(reply), /^550 5\.7\.1 .*policy/);
  t.deepEqual(gateway.verdicts, ['rejected']);
});

test('mail that the scorer wants to see again is neither held nor relayed, and its sender told to come again', async t => {
  const {gateway, client, sink} = await open(t);
  gateway.intake.judge = async () => judgement('defer');
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');

  const reply = await client.data(raw);

  t.is(line(reply), '451 4.7.1 Message is not taken yet, try again later');
  t.deepEqual(gateway.held, []);
  t.false(sink.steps.includes('DATA'));
  t.deepEqual(gateway.verdicts, ['deferred']);
});

test('trouble of ours is never a 250 and never for good', async t => {
  const {gateway, client, sink} = await open(t);
  const {intake} = gateway;
  const failing = (error: Error) => async () => {
    throw error;
  };
  const send = async () => {
    await client.cmd('MAIL FROM:<a@strange.test>');
    await client.cmd('RCPT TO:<ben@one.test>');
    return line(await client.data(raw));
  };

  intake.judge = failing(new Fault('unavailable', 'no scorer'));
  t.regex(await send(), /^451 4\.7\.1 /);
  intake.judge = failing(new TypeError('a bug'));
  t.regex(await send(), /^451 4\.3\.0 /);
  intake.judge = async () => judgement('hold');
  intake.hold = failing(Object.assign(new Error('no space'), {code: 'ENOSPC'}));
  t.regex(await send(), /^452 4\.3\.1 /);
  intake.hold = failing(Object.assign(new Error('database or disk is full'), {code: 'SQLITE_FULL'}));
  t.regex(await send(), /^452 4\.3\.1 /);
  intake.hold = failing(new Error('EIO'));
  t.regex(await send(), /^451 4\.3\.0 /);
  intake.judge = async () => judgement('relay');
  intake.relayPrefix = failing(new Error('no key'));
  t.regex(await send(), /^451 4\.3\.0 /);
  intake.canTakeMail = () => ({code: 452, text: '4.3.1 full'});
  t.is(line(await client.cmd('MAIL FROM:<a@strange.test>')), '452 4.3.1 full');

  t.is(sink.mails.length, 0);
  t.deepEqual(new Set(gateway.verdicts), new Set(['deferred']));
});

test('what the backend says to the mail is what the client hears', async t => {
  for (const [final, expected] of [
    [{code: 554, text: '5.7.1 virus'}, '554 5.7.1 virus'],
    [{code: 451, text: '4.2.0 greylisted'}, '451 4.2.0 greylisted'],
    [{code: 550, text: 'plain refusal'}, '550 5.0.0 plain refusal'],
  ] as const) {
    const {client} = await open(t, {sink: {final}});
    await client.cmd('MAIL FROM:<a@strange.test>');
    await client.cmd('RCPT TO:<ben@one.test>');

    t.is(line(await client.data(raw)), expected);
    t.is((await client.cmd('NOOP')).code, 250);
  }
});

test('a backend lost after the final dot is a deferral and never a 250', async t => {
  const {client} = await open(t, {sink: {drop: 'after-final-dot'}});
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');

  t.regex(line(await client.data(raw)), /^451 4\.4\.2 /);
});

test('a backend lost between RCPT and DATA is found again without the client noticing', async t => {
  const {client, sink} = await open(t);
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');

  sink.dropConnections();

  t.is((await client.data(raw)).code, 250);
  t.is(sink.mails.length, 1);
});

test('what RFC 5321 forbids in content is refused and the session goes on', async t => {
  const {gateway, client, sink} = await open(t);
  const header = 'Subject: x\r\n\r\n';
  const forbidden = {
    'bare LF': `${header}a\nb\r\n`,
    'bare CR': `${header}a\rb\r\n`,
    NUL: `${header}a\0b\r\n`,
    'long line': `${header}${'x'.repeat(999)}\r\n`,
    loop: `${'Received: by x\r\n'.repeat(51)}${raw}`,
    'smuggled mail': `${header}a\r\n.\nMAIL FROM:<evil@x.test>\r\n`,
    'huge header': `${`X-Field: ${'x'.repeat(900)}\r\n`.repeat(400)}${raw}`,
  };

  for (const [what, content] of Object.entries(forbidden)) {
    await client.cmd('MAIL FROM:<a@strange.test>');
    await client.cmd('RCPT TO:<ben@one.test>');
    t.regex(line(await client.data(content)), /^55[24] 5\./, what);
  }
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');
  t.is((await client.data(raw)).code, 250);

  t.is(sink.mails.length, 1);
  t.is(gateway.judged.length, 1);
  t.deepEqual(await gateway.spilled(), []);
});

test('a mail too big is refused at MAIL when it says so and at the end when it does not', async t => {
  const {client, sink, gateway} = await open(t, {needs: {maxSize: 500_000}});

  t.regex(line(await client.cmd('MAIL FROM:<a@strange.test> SIZE=500001')), /^552 5\.3\.4 /);
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');
  t.regex(line(await client.data(big + big)), /^552 5\.3\.4 /);
  await client.cmd('MAIL FROM:<a@strange.test> SIZE=400000');
  await client.cmd('RCPT TO:<ben@one.test>');
  t.is((await client.data(big)).code, 250);

  t.is(sink.mails.length, 1);
  t.deepEqual(await gateway.spilled(), []);
});

test('a big mail waits in a file, arrives byte for byte, and the file is gone on every way out', async t => {
  const {gateway, client, sink} = await open(t);
  const {intake} = gateway;
  const during: number[] = [];
  const ways = ['relay', 'hold', 'reject', 'fail'] as const;
  const send = async () => {
    await client.cmd('MAIL FROM:<a@strange.test>');
    await client.cmd('RCPT TO:<ben@one.test>');
    return client.data(big);
  };

  for (const way of ways) {
    intake.judge = async () => {
      during.push((await gateway.spilled()).length);
      if (way === 'fail') throw new Error('a bug');
      return judgement(way);
    };
    await send();
    t.deepEqual(await gateway.spilled(), [], way);
  }
  sink.behave({drop: 'within-data'});
  intake.judge = async () => judgement('relay');
  t.is((await send()).code, 451);

  t.deepEqual(during, [1, 1, 1, 1]);
  t.is(sink.mails[0]?.content.toString(), `Received: by gate.test id Q1x00000\r\n${big}`);
  t.is(gateway.held[0]?.content, big);
  t.deepEqual(await gateway.spilled(), []);
});

test('a client that goes away within its mail leaves nothing behind', async t => {
  const {gateway, client, sink} = await open(t);
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');
  await client.cmd('DATA');
  client.write(big);
  await until(async () => (await gateway.spilled()).length === 1);

  client.destroy();
  await until(async () => (await gateway.spilled()).length === 0);

  t.is(gateway.judged.length, 0);
  t.false(sink.steps.includes('DATA'));
  t.is((await sendMail({port: gateway.port, from: 'a@strange.test', to: 'ben@one.test', raw})).reply.code, 250);
});

test('a mail whose client went away while it was judged is neither held nor delivered, for it will come again', async t => {
  for (const action of ['relay', 'hold'] as const) {
    const {gateway, client, sink} = await open(t);
    let judged: (() => void) | undefined;
    gateway.intake.judge = () =>
      new Promise(resolve => {
        judged = () => resolve(judgement(action));
      });
    await client.cmd('MAIL FROM:<a@strange.test>');
    await client.cmd('RCPT TO:<ben@one.test>');
    await client.cmd('DATA');
    client.write(`${raw}.\r\n`);
    await until(async () => judged !== undefined);

    client.destroy();
    await pause(500);
    judged?.();
    await until(async () => gateway.verdicts.length === 1);

    t.deepEqual(gateway.verdicts, ['deferred'], action);
    t.is(gateway.held.length + sink.mails.length, 0, action);
  }
});

test('RSET, EHLO, QUIT and going away end the transaction at the backend at once', async t => {
  for (const command of ['RSET', 'EHLO again.test', 'QUIT', 'gone']) {
    const {server, lines} = await startScriptedServer(t, () => undefined);
    const {client} = await open(t, {servers: [server]});
    await client.cmd('MAIL FROM:<a@strange.test>');
    await client.cmd('RCPT TO:<ben@one.test>');

    if (command === 'gone') client.destroy();
    else await client.cmd(command);
    await until(async () => lines.at(-1) === 'RSET');

    if (command !== 'RSET' && !command.startsWith('EHLO')) continue;
    t.is((await client.cmd('RCPT TO:<ben@one.test>')).code, 503, command);
    await client.cmd('MAIL FROM:<b@strange.test>');
    await client.cmd('RCPT TO:<cat@one.test>');
    t.is((await client.data(raw)).code, 250);
    t.deepEqual(
      lines.filter(said => /^(EHLO|RSET|MAIL|RCPT)/.test(said)),
      [
        'EHLO gate.test',
        'MAIL FROM:<a@strange.test>',
        'RCPT TO:<ben@one.test>',
        'RSET',
        'MAIL FROM:<b@strange.test>',
        'RCPT TO:<cat@one.test>',
      ],
    );
  }
});

test('STARTTLS shows the certificate in use, a swapped one to those who come later, and a bad pair changes nothing', async t => {
  const {gateway, client, sink} = await open(t);
  const [other, third] = [await selfSigned('second.test'), await selfSigned('third.test')];

  const first = await client.startTls();
  await client.cmd('EHLO client.test');
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');
  await client.data(raw);
  gateway.updateSecureContext(other);
  t.throws(() => gateway.updateSecureContext({key: other.key, cert: third.cert}));
  const later = await connect(gateway.port);
  await later.cmd('EHLO client.test');
  const second = await later.startTls();
  later.destroy();

  t.deepEqual([first.subject, second.subject], ['gate.test', 'second.test']);
  t.is(gateway.judged[0]?.client.protocol, 'ESMTPS');
  t.is(sink.mails.length, 1);
});

test('commands sent along with STARTTLS in the clear are never run, and TLS begins a new session', async t => {
  const {gateway, client} = await open(t);
  await client.cmd('MAIL FROM:<early@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');
  const socket = createConnection({host: '127.0.0.1', port: gateway.port});
  t.teardown(() => socket.destroy());
  await once(socket, 'data');
  socket.write('EHLO client.test\r\nMAIL FROM:<early@strange.test>\r\n');
  await once(socket, 'data');
  socket.write('STARTTLS\r\nEHLO evil.test\r\nMAIL FROM:<evil@strange.test>\r\nRCPT TO:<ben@one.test>\r\n');
  await once(socket, 'data');

  const secured = connectTls({socket, rejectUnauthorized: false});
  const said: string[] = [];
  secured.on('data', (chunk: Buffer) => said.push(...chunk.toString().trimEnd().split('\r\n')));
  secured.write('NOOP\r\nRCPT TO:<ben@one.test>\r\nMAIL FROM:<a@strange.test>\r\nEHLO client.test\r\nSTARTTLS\r\nQUIT\r\n');
  await once(secured, 'close');

  t.deepEqual(
    said.filter(one => !one.startsWith('250-')),
    [
      '250 2.0.0 OK',
      '503 5.5.1 Send HELO or EHLO first',
      '503 5.5.1 Send HELO or EHLO first',
      '250 SIZE 1000000',
      '503 5.5.1 TLS is active already',
      '221 2.0.0 Bye',
    ],
  );
  t.false(said.some(one => one.endsWith('STARTTLS')));
  await client.startTls();
  t.is(line(await client.cmd('DATA')), '503 5.5.1 Send HELO or EHLO first');
});

test('an error of TLS after the handshake ends the connection, and is logged once', async t => {
  const {gateway} = await open(t);
  const upstream = createConnection({host: '127.0.0.1', port: gateway.port});
  const proxy = createServer(socket => void upstream.pipe(socket.on('data', chunk => upstream.write(chunk))));
  proxy.listen(0, '127.0.0.1');
  t.teardown(() => proxy.close());
  await once(proxy, 'listening');
  const client = await connect((proxy.address() as AddressInfo).port);
  await client.cmd('EHLO client.test');
  await client.startTls({rejectUnauthorized: false});
  await client.cmd('EHLO client.test');

  upstream.write(Buffer.from('\x17\x03\x03\x00\x10garbled record..', 'latin1'));
  await new Promise(resolve => upstream.on('error', () => undefined).once('close', resolve));

  await until(async () => gateway.logged.length > 0);
  await pause(50);
  t.is(gateway.logged.length, 1);
  t.regex(gateway.logged[0] ?? '', /^smtp client failed .*"client_ip":"127\.0\.0\.1"/);
});

test('stop says nothing in the clear to a client within its handshake', async t => {
  const {gateway, client} = await open(t);
  const socket = createConnection({host: '127.0.0.1', port: gateway.port});
  let said = '';
  socket.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await until(async () => said !== '');
  socket.write('STARTTLS\r\n');
  await until(async () => said.includes('Ready'));

  await gateway.stop();
  await client.closed;

  t.false(said.includes('421'), said);
});

test('a client that asks for TLS and never finishes its handshake is cut off, whatever it says meanwhile, and its place is free', async t => {
  const {gateway, client} = await open(t, {needs: {handshakeMs: 500, maxConnectionsPerClient: 3}});
  const [silent, dribbling] = [await connect(gateway.port), await connect(gateway.port)];
  for (const one of [silent, dribbling]) t.is((await one.cmd('STARTTLS')).code, 220);

  dribbling.write(Buffer.from('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'latin1'));
  const dribble = setInterval(() => dribbling.write('x'), 20);
  t.teardown(() => clearInterval(dribble));
  await Promise.all([silent.closed, dribbling.closed]);

  t.is((await client.cmd('NOOP')).code, 250);
  await until(async () => (await connect(gateway.port)).greeting.code === 220);
});

test('a handshake that was finished is not cut off later', async t => {
  const {gateway} = await open(t, {needs: {handshakeMs: 1000}});
  const finished = async () => {
    const client = await connect(gateway.port);
    t.teardown(() => client.destroy());
    await client.cmd('EHLO client.test');
    await client.startTls();
    return client;
  };
  // On a busy machine a session may take longer than that.
  const client = await eventually(async () => finished().catch(() => undefined));

  await new Promise(resolve => setTimeout(resolve, 1300));

  t.is((await client.cmd('EHLO client.test')).code, 250);
});

test('too many recipients are told to come apart', async t => {
  const {client} = await open(t, {needs: {maxRecipients: 2}});
  await client.cmd('MAIL FROM:<a@strange.test>');

  await client.cmd('RCPT TO:<a@one.test>');
  await client.cmd('RCPT TO:<b@one.test>');

  t.regex(line(await client.cmd('RCPT TO:<c@one.test>')), /^452 4\.5\.3 /);
});

test('connections are limited in all and by client, and a place is free again when one has gone', async t => {
  const trusted = new Set<string>();
  const needs = {maxConnections: 3, maxConnectionsPerClient: 2, isTrusted: (ip: string) => trusted.has(ip)};
  const {gateway, client} = await open(t, {needs});
  await client.startTls();
  const second = await connect(gateway.port);

  t.regex(line((await connect(gateway.port)).greeting), /^421 4\.7\.0 .*your address/);
  trusted.add('127.0.0.1');
  const third = await connect(gateway.port);
  t.is(third.greeting.code, 220);
  t.is(line((await connect(gateway.port)).greeting), '421 4.7.0 Too many connections, try again later');
  client.destroy();
  second.destroy();
  trusted.clear();
  await until(async () => (await connect(gateway.port)).greeting.code === 220);

  t.pass();
});

test('a client that does nothing but err is cut off', async t => {
  const {client} = await open(t);
  await client.cmd('MAIL FROM:<a@strange.test>');
  let last = '';
  for (let n = 0; n < 100; n++) last = line(await client.cmd(`RCPT TO:<user${n}@elsewhere.test>`));

  t.regex(last, /^550 5\.7\.1 /);
  t.is(line(await client.reply()), '421 4.7.0 Too many errors');
  await client.closed;
});

test('a command out of its order or form is refused, says why, and changes nothing', async t => {
  const {gateway, client} = await open(t);
  const stranger = await connect(gateway.port);
  t.is(line(await stranger.cmd('MAIL FROM:<a@strange.test>')), '503 5.5.1 Send HELO or EHLO first');
  t.is(line(await stranger.cmd('RCPT TO:<ben@one.test>')), '503 5.5.1 Send HELO or EHLO first');

  for (const [said, answer] of [
    ['EHLO', '501 Syntax: EHLO hostname'],
    ['EHLO two names', '501 Syntax: EHLO hostname'],
    ['RCPT TO:<ben@one.test>', '503 5.5.1 Send MAIL first'],
    ['DATA', '503 5.5.1 Send MAIL first'],
    ['MAIL FROM:<a@strange.test>', '250 2.1.0 Accepted'],
    ['MAIL FROM:<b@strange.test>', '503 5.5.1 Nested MAIL command'],
    ['DATA', '503 5.5.1 Send RCPT first'],
    ['rcpt to:<ben@one.test>', '250 2.1.5 Accepted'],
    ['DATA now', '501 5.5.4 This command takes no parameters'],
    ['STARTTLS now', '501 5.5.4 This command takes no parameters'],
    ['VRFY ben', '252 2.1.5 Send the mail to find out'],
    ['NOOP', '250 2.0.0 OK'],
    ['HELP', '214 2.0.0 See RFC 5321'],
    ['XCLIENT NAME=x', '500 5.5.2 Command not recognized'],
  ] as const)
    t.is(line(await client.cmd(said)), answer, said);
  t.is((await client.data(raw)).code, 250);
  t.is(line(await client.cmd('QUIT')), '221 2.0.0 Bye');
  await client.closed;

  t.like(gateway.judged, [{envelope: {sender: 'a@strange.test', recipients: ['ben@one.test']}}]);
});

test('a client that speaks no SMTP is cut off and told why', async t => {
  const lastWords = async (...lines: string[]): Promise<string> => {
    const {client} = await open(t);
    let last = '';
    for (const said of lines) last = line(await client.cmd(said));
    await client.closed;
    return last;
  };

  t.is(await lastWords('GET / HTTP/1.1'), '421 4.7.0 HTTP requests are not answered here');
  t.is(await lastWords('x'.repeat(5000)), '421 4.7.0 Line too long');
  t.is(await lastWords(...Array.from({length: 10}, () => 'BREW coffee')), '421 4.7.0 Too many unknown commands');
});

test('a client that sends nothing, within a mail or between mails, or reads nothing, is cut off in time', async t => {
  const {gateway, client} = await open(t, {needs: {idleMs: 1000, maxConnections: 3}});
  const within = await connect(gateway.port);
  await within.cmd('EHLO within.test');
  await within.cmd('MAIL FROM:<a@strange.test>');
  await within.cmd('RCPT TO:<ben@one.test>');
  await within.cmd('DATA');
  within.write('Subject: x\r\n');
  const deaf = createConnection({host: '127.0.0.1', port: gateway.port});
  t.teardown(() => deaf.destroy());
  await once(deaf, 'data');
  deaf.pause().on('error', () => undefined);
  deaf.write('EHLO a\r\n'.repeat(2_000_000));

  t.is(line(await client.reply()), '421 4.4.2 Timeout, closing connection');
  t.true(deaf.writableLength > 0, 'what nobody reads the replies to is not taken');
  t.is(line(await within.reply()), '421 4.4.2 Timeout, closing connection');
  const all = await eventually(async () => {
    const admitted = await Promise.all([0, 1, 2].map(() => connect(gateway.port)));
    for (const one of admitted) one.destroy();
    return admitted.every(({greeting}) => greeting.code === 220) ? admitted : undefined;
  });

  t.is(all.length, 3);
  t.deepEqual(gateway.judged, []);
});

test('a client that waits for a reply is not idle', async t => {
  const {gateway, client} = await open(t, {needs: {idleMs: 300}});
  const {judge} = gateway.intake;
  gateway.intake.judge = async (...mail) => {
    await pause(1000);
    return judge(...mail);
  };
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');

  t.is((await client.data(raw)).code, 250);
  t.is(line(await client.reply()), '421 4.4.2 Timeout, closing connection');
});

test('a client that pipelines without end keeps nobody else waiting', async t => {
  const {client} = await open(t);
  const commands = 12_000;
  let isOver = false;
  let iterations = 0;
  const count = (): void => {
    iterations += 1;
    if (!isOver) setImmediate(count);
  };

  client.write('NOOP\n'.repeat(commands));
  await client.reply();
  count();
  for (let n = 1; n < commands; n += 1) await client.reply();
  isOver = true;

  t.true(iterations > commands / 20, `${iterations} iterations of the event loop`);
});

test('a session has room for a thousand mails', async t => {
  const {client, sink} = await open(t);
  const envelope = 'MAIL FROM:<a@strange.test>\r\nRCPT TO:<ben@one.test>\r\nDATA\r\n';
  const codes: number[] = [];
  for (let n = 0; n < 1000; n += 1) {
    client.write(envelope);
    for (const _ of ['MAIL', 'RCPT', 'DATA']) await client.reply();
    client.write(`${raw}.\r\n`);
    codes.push((await client.reply()).code);
  }

  t.is(line(await client.cmd('MAIL FROM:<a@strange.test>')), '421 4.7.0 Too many mails in one session, connect again');
  t.deepEqual(new Set(codes), new Set([250]));
  t.is(sink.mails.length, 1000);
});

test('a port that is taken fails with the error of the socket', async t => {
  const gateway = await startTestGateway(t);

  await t.throwsAsync(startTestGateway(t, {needs: {listen: gateway.address}}), {code: 'EADDRINUSE'});
});

test('stop lets the mail on its way in finish, sends the idle home and takes nobody new', async t => {
  const {gateway, client, sink} = await open(t);
  const idle = await connect(gateway.port);
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');
  await client.cmd('DATA');
  client.write('Subject: slow\r\n\r\n');

  const stopped = gateway.stop();
  t.is(line(await idle.reply()), '421 4.3.2 Service is shutting down, try again later');
  await t.throwsAsync(connect(gateway.port));
  client.write('hello\r\n.\r\n');
  t.is(line(await client.reply()), '250 2.0.0 Ok: queued as Q1x00000');
  t.is(line(await client.reply()), '421 4.3.2 Service is shutting down, try again later');
  await stopped;

  t.is(sink.mails.length, 1);
});

test('stop does not wait longer than it may for a client that does not finish', async t => {
  const {gateway, client} = await open(t, {needs: {drainMs: 200}});
  await client.cmd('MAIL FROM:<a@strange.test>');
  await client.cmd('RCPT TO:<ben@one.test>');
  await client.cmd('DATA');
  client.write(big);
  await until(async () => (await gateway.spilled()).length === 1);

  await gateway.stop();

  t.is(line(await client.reply()), '421 4.3.2 Service is shutting down, try again later');
  t.deepEqual(await gateway.spilled(), []);
});

test('two hundred pipelined sessions at once get their mails through, each with its own envelope', async t => {
  const gateway = await startTestGateway(t, {needs: {maxConnections: 500, maxConnectionsPerClient: 500}});
  const session = async (n: number) => {
    const client = await connect(gateway.port);
    client.write(`EHLO c${n}.test\r\n`);
    await client.reply();
    const replies: number[] = [];
    for (const round of [1, 2]) {
      client.write(`MAIL FROM:<a${n}@strange.test>\r\nRCPT TO:<b${n}@one.test>\r\nDATA\r\n`);
      for (let k = 0; k < 3; k++) replies.push((await client.reply()).code);
      client.write(`Subject: ${n}-${round}\r\n\r\nhello\r\n.\r\n`);
      replies.push((await client.reply()).code);
    }
    client.write('QUIT\r\n');
    replies.push((await client.reply()).code);
    client.destroy();
    return replies.join();
  };

  const results = await Promise.all(Array.from({length: 200}, (_, n) => session(n)));

  t.deepEqual(new Set(results), new Set(['250,250,354,250,250,250,354,250,221']));
  t.is(gateway.sink.mails.length, 400);
  t.is(new Set(gateway.sink.mails.map(mail => mail.content.toString())).size, 400);
  t.true(gateway.sink.mails.every(mail => mail.sender.slice(1).split('@')[0] === mail.recipients[0]?.slice(1).split('@')[0]));
  t.true(gateway.sink.connectionCount() < 400);
});

const until = async (isTrue: () => Promise<boolean>) => {
  for (let n = 0; n < 100; n++) {
    if (await isTrue()) return;
    await new Promise(resolve => setTimeout(resolve, 30));
  }
  throw new Error('timed out');
};
