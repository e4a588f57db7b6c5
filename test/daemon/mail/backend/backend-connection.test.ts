import {Readable} from 'node:stream';
import {TLSSocket} from 'node:tls';
import test, {type ExecutionContext} from 'ava';
import {createAuthority, issueLeaf} from '../../../../daemon/cluster/certificates.ts';
import {
  type BackendTimeouts,
  connectBackend,
  defaultBackendTimeouts,
} from '../../../../daemon/mail/backend/backend-connection.ts';
import type {Route} from '../../../../daemon/services/intake/mail.ts';
import type {HostPort} from '../../../../shared/host-port.ts';
import {selfSigned} from '../../../helpers/certificate.ts';
import {pause} from '../../../helpers/pause.ts';
import {closedPort} from '../../../helpers/ports.ts';
import {startScriptedServer} from '../../../helpers/scripted-server.ts';
import {startSmtpSink} from '../../../helpers/smtp-sink.ts';

interface Options {
  ownKeyword?: string;
  auth?: Route['auth'];
  timeouts?: Partial<BackendTimeouts>;
}

const connect = (server: HostPort, {auth, timeouts, ownKeyword}: Options = {}) =>
  connectBackend({
    server,
    hostname: 'gate.test',
    timeouts: {...defaultBackendTimeouts, ...timeouts},
    ownKeyword,
    ...(auth && {auth}),
  });

const open = async (t: ExecutionContext, server: HostPort, options: Options = {}) => {
  const connection = await connect(server, options);
  if ('lost' in connection) return t.fail(connection.lost) as never;
  t.teardown(() => connection.close());
  return connection;
};

const start = {sender: 'a@one.test', isUtf8: false, isEightBit: false};
const text = (bytes: string | Buffer) => () => Readable.from([Buffer.from(bytes)], {objectMode: false});

test('the envelope goes ahead step by step and the content follows on the same transaction', async t => {
  const sink = await startSmtpSink(t);
  const connection = await open(t, sink.server);

  t.like(await connection.mail(start), {code: 250});
  t.deepEqual(sink.steps, ['MAIL a@one.test']);
  t.like(await connection.rcpt('b@two.test'), {code: 250});
  t.deepEqual(sink.steps, ['MAIL a@one.test', 'RCPT b@two.test']);
  t.like(await connection.data(text('Subject: x\r\n\r\nhello\r\n')), {code: 250});

  t.is(sink.mails.length, 1);
  t.is(sink.mails[0]?.content.toString(), 'Subject: x\r\n\r\nhello\r\n');
  t.true(connection.isOpen);
});

test('content arrives byte for byte, dots and 8-bit bytes included, however it is cut', async t => {
  const sink = await startSmtpSink(t);
  const connection = await open(t, sink.server);
  const content = Buffer.concat([
    Buffer.from('.dot first\r\n..two\r\n.\r\n...\r\nA: b\r\n\r\n'),
    Buffer.from([0x80, 0xff, 0xe9, 0x0d, 0x0a, 0x2e, 0x0d, 0x0a]),
    Buffer.from('x'.repeat(900)),
    Buffer.from('\r\n.\r\n'),
  ]);

  for (const size of [1, 2, 3, 7, content.length]) {
    await connection.mail({...start, isEightBit: true});
    await connection.rcpt('b@two.test');
    const pieces = Array.from({length: Math.ceil(content.length / size)}, (_, n) => content.subarray(n * size, (n + 1) * size));
    await connection.data(() => Readable.from(pieces, {objectMode: false}));
  }

  t.is(sink.mails.length, 5);
  for (const mail of sink.mails) t.deepEqual(mail.content, content);
  t.true(sink.mails[0]?.isEightBit);
});

test('a reply of several lines is joined, stripped of repeated status codes and of what could end our own reply', async t => {
  const {server} = await startScriptedServer(t, line =>
    line.startsWith('RCPT') ? '550-5.1.1 No such\x07 user\r\n550-5.1.1 here\u00e9\r\n550 5.1.1 ever\r\n' : undefined,
  );
  const connection = await open(t, server);
  await connection.mail(start);

  const reply = await connection.rcpt('b@two.test');

  t.like(reply, {code: 550, text: '5.1.1 No such  user here? ever'});
});

test('an address that could end the command never reaches the wire', async t => {
  const {server, lines} = await startScriptedServer(t, () => undefined);
  const connection = await open(t, server);
  await connection.mail(start);

  for (const address of [
    'b@two.test>\r\nRCPT TO:<evil@x.test',
    'b@two.test> <c@three.test',
    'b\n@two.test',
    '',
    'b@',
    '<b@two.test>',
  ])
    t.like(await connection.rcpt(address), {code: 553}, address);
  t.like(await connection.mail({...start, sender: 'a@one.test>\r\nDATA'}), {code: 553});

  t.deepEqual(
    lines.filter(line => !line.startsWith('EHLO')),
    ['MAIL FROM:<a@one.test>'],
  );
});

test('a mail that needs SMTPUTF8 is refused for a server that does not offer it, and sent to one that does', async t => {
  const without = await startSmtpSink(t, {hasUtf8: false});
  const withIt = await startSmtpSink(t);

  const refused = await (await open(t, without.server)).mail({...start, sender: 'jürgen@one.test', isUtf8: true});
  const connection = await open(t, withIt.server);
  await connection.mail({...start, sender: 'jürgen@one.test', isUtf8: true});
  await connection.rcpt('zoë@two.test');
  await connection.data(text('Subject: x\r\n\r\n'));

  t.deepEqual(refused, {code: 550, text: '5.6.7 The mail server of the recipient does not support SMTPUTF8'});
  t.deepEqual(without.steps, []);
  t.like(withIt.mails[0], {sender: 'jürgen@one.test', recipients: ['zoë@two.test'], isUtf8: true});
});

test('SMTPUTF8 is not said to a server that does not offer it, which gets the recipients that are ASCII', async t => {
  const {server, lines} = await startScriptedServer(t, () => undefined);
  const connection = await open(t, server);

  t.like(await connection.mail({...start, isUtf8: true}), {code: 250});
  t.false(connection.isUtf8);
  t.like(await connection.rcpt('zoë@two.test'), {code: 550});
  t.like(await connection.rcpt('b@two.test'), {code: 250});

  t.deepEqual(lines.slice(1), ['MAIL FROM:<a@one.test>', 'RCPT TO:<b@two.test>']);
});

test('TLS is used where it is offered, self-signed as it is', async t => {
  const sink = await startSmtpSink(t, {hasTls: true});
  const connection = await open(t, sink.server);

  await connection.mail(start);
  await connection.rcpt('b@two.test');
  await connection.data(text('Subject: x\r\n\r\n.\r\n'));

  t.like(sink.mails[0], {isSecure: true, content: Buffer.from('Subject: x\r\n\r\n.\r\n')});
});

test('a server whose TLS is broken is spoken to in the clear', async t => {
  const {server, lines} = await startScriptedServer(t, (line, socket) => {
    if (line.startsWith('EHLO')) return '250-scripted.test\r\n250 STARTTLS\r\n';
    if (line !== 'STARTTLS') return undefined;
    socket.once('data', () => socket.write('this is no handshake\r\n'));
    return '220 go\r\n';
  });

  const connection = await open(t, server);

  t.like(await connection.mail(start), {code: 250});
  t.true(lines.includes('MAIL FROM:<a@one.test>'));
});

test('it logs in where the route says so, and a wrong password is a failed connection', async t => {
  const auth = {username: 'gate', password: 'secret'};
  const sink = await startSmtpSink(t, {auth});
  const connection = await open(t, sink.server, {auth});
  await connection.mail(start);
  await connection.rcpt('b@two.test');
  await connection.data(text('\r\n'));

  const failed = await connect(sink.server, {auth: {...auth, password: 'wrong'}});

  t.is(sink.mails[0]?.user, 'gate');
  t.regex('lost' in failed ? failed.lost : '', /login failed.*535/);
  t.false('lost' in failed && failed.lost.includes('wrong'));
});

test('a password goes only to a server that the given authority vouches for', async t => {
  const auth = {username: 'gate', password: 'secret'};
  const authority = await createAuthority(Date.now());
  const stranger = await createAuthority(Date.now());
  const tls = await issueLeaf(authority, {commonName: 'sink', hosts: ['127.0.0.1']}, Date.now());
  const sink = await startSmtpSink(t, {auth, tls});

  const connection = await open(t, sink.server, {auth: {...auth, ca: authority.cert}});
  const refused = await connect(sink.server, {auth: {...auth, ca: stranger.cert}});
  await connection.mail(start);
  await connection.rcpt('b@two.test');
  await connection.data(text('\r\n'));

  t.like(sink.mails[0], {user: 'gate', isSecure: true});
  t.regex('lost' in refused ? refused.lost : '', /certificate/);
});

test('a password is not sent to a server that does not offer AUTH', async t => {
  const {server, lines} = await startScriptedServer(t, () => undefined);

  const failed = await connect(server, {auth: {username: 'gate', password: 'secret'}});

  t.like(failed, {lost: 'the server does not offer AUTH', stage: 'command'});
  t.false(lines.some(line => line.startsWith('AUTH')));
});

test('no connection, a refusing greeting, silence and noise are each a loss before anything was sent', async t => {
  const refusing = await startScriptedServer(t, () => undefined, '554 go away\r\n');
  const silent = await startScriptedServer(t, () => undefined, '');
  const noise = await startScriptedServer(t, () => undefined, 'HTTP/1.1 400 Bad Request\r\n\r\n');
  const hangsUp = await startSmtpSink(t, {drop: 'on-connect'});
  const servers = [await closedPort(), refusing.server, silent.server, noise.server, hangsUp.server];

  const results = await Promise.all(servers.map(server => connect(server, {timeouts: {greetingMs: 200, replyMs: 200}})));

  for (const result of results) t.like(result, {stage: 'command'});
});

test('a server that does not reply in time is a loss at that stage', async t => {
  const mute = (verb: string) =>
    startScriptedServer(t, (line, socket) => {
      if (!line.startsWith(verb)) return undefined;
      socket.pause();
      return '';
    });
  const timeouts = {replyMs: 1000, finalMs: 1000};
  const onRcpt = await open(t, (await mute('RCPT')).server, {timeouts});
  const onDot = await open(t, (await mute('.')).server, {timeouts});
  await onRcpt.mail(start);
  await onDot.mail(start);
  await onDot.rcpt('b@two.test');

  t.like(await onRcpt.rcpt('b@two.test'), {lost: 'no reply within 1000 ms', stage: 'command'});
  t.like(await onDot.data(text('x\r\n')), {lost: 'no reply within 1000 ms', stage: 'final-dot'});
  t.false(onRcpt.isOpen);
  t.false(onDot.isOpen);
});

test('a loss within the content and one after the final dot are told apart', async t => {
  const within = await startSmtpSink(t, {drop: 'within-data'});
  const after = await startSmtpSink(t, {drop: 'after-final-dot'});
  const endless = () => Readable.from(lines(), {objectMode: false});

  const one = await open(t, within.server);
  await one.mail(start);
  await one.rcpt('b@two.test');
  const other = await open(t, after.server);
  await other.mail(start);
  await other.rcpt('b@two.test');

  t.like(await one.data(endless), {stage: 'content'});
  t.like(await other.data(text('x\r\n')), {stage: 'final-dot'});
});

async function* lines(): AsyncGenerator<Buffer> {
  for (;;) yield Buffer.from(`${'x'.repeat(70)}\r\n`.repeat(100));
}

test('421 is a loss and not a reply, for it would end the session of our own client', async t => {
  const {server} = await startScriptedServer(t, line => (line.startsWith('RCPT') ? '421 4.3.2 closing\r\n' : undefined));
  const connection = await open(t, server);
  await connection.mail(start);

  t.deepEqual(await connection.rcpt('b@two.test'), {lost: '421 4.3.2 closing', stage: 'command'});
  t.false(connection.isOpen);
});

test('a server that answers within the content gets no commands made of the rest', async t => {
  const {server, lines: seen} = await startScriptedServer(t, line => (line === 'first' ? '552 5.3.4 too big\r\n' : undefined));
  const connection = await open(t, server);
  await connection.mail(start);
  await connection.rcpt('b@two.test');
  async function* slow() {
    yield Buffer.from('first\r\n');
    await new Promise<void>(resolve => connection.onClose(resolve));
    yield Buffer.from('RCPT TO:<evil@x.test>\r\n');
  }

  const answer = await connection.data(() => Readable.from(slow(), {objectMode: false}));

  t.like(answer, {code: 552, text: '5.3.4 too big'});
  t.false(connection.isOpen);
  await pause(100);
  t.is(seen.at(-1), 'first');
});

test('content that cannot be read never ends in a dot', async t => {
  const {server, lines: seen} = await startScriptedServer(t, () => undefined);
  const connection = await open(t, server);
  await connection.mail(start);
  await connection.rcpt('b@two.test');
  async function* broken() {
    yield Buffer.from('half\r\n');
    throw new Error('EIO');
  }

  const answer = await connection.data(() => Readable.from(broken(), {objectMode: false}));

  t.deepEqual(answer, {lost: 'the mail could not be read: EIO', stage: 'content'});
  t.false(seen.includes('.'));
});

test('a node of the own cluster is known by its keyword, said before STARTTLS or after it', async t => {
  const keyword = 'X-MFD-0123456789abcdef';
  const tls = await selfSigned('member.test');
  const member = async (before: string, after: string) => {
    const {server, lines} = await startScriptedServer(t, (line, socket) => {
      if (line.startsWith('EHLO')) return `250-member.test\r\n250-${before}\r\n250 STARTTLS\r\n`;
      if (line !== 'STARTTLS') return undefined;
      socket.write('220 go\r\n');
      socket.removeAllListeners('data');
      const secured = new TLSSocket(socket, {isServer: true, ...tls});
      secured.on('error', () => undefined);
      secured.on('data', data => {
        lines.push(`secured ${data.toString().trim()}`);
        secured.write(`250-member.test\r\n250 ${after}\r\n`);
      });
      return undefined;
    });
    return {server, lines};
  };

  const early = await member(keyword, 'SIZE');
  const late = await member('SIZE', keyword);
  const stranger = await member('SIZE', 'X-MFD-fedcba9876543210');

  const lost = {lost: 'it is a node of this cluster: its mail would go in circles', stage: 'command'};
  t.like(await connect(early.server, {ownKeyword: keyword}), lost);
  t.deepEqual(early.lines, ['EHLO gate.test']);
  t.like(await connect(late.server, {ownKeyword: keyword}), lost);
  t.deepEqual(late.lines, ['EHLO gate.test', 'STARTTLS', 'secured EHLO gate.test']);
  t.true((await open(t, stranger.server, {ownKeyword: keyword})).isOpen);
});
