import type {Socket} from 'node:net';
import test, {type ExecutionContext} from 'ava';
import {type BackendPoolNeeds, createBackendPool} from '../../../../daemon/mail/backend/backend-pool.ts';
import type {HostPort} from '../../../../shared/host-port.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {pause} from '../../../helpers/pause.ts';
import {closedPort} from '../../../helpers/ports.ts';
import {contentOf} from '../../../helpers/received-mail.ts';
import {startScriptedServer} from '../../../helpers/scripted-server.ts';
import {startSmtpSink} from '../../../helpers/smtp-sink.ts';

const openPool = (t: ExecutionContext, needs: Partial<BackendPoolNeeds> = {}) => {
  const pool = createBackendPool({hostname: 'gate.test', ...needs});
  t.teardown(() => pool.close());
  return pool;
};

/** Servers that are down are not tried again in the background. */
const never = {firstMs: 3_600_000, mostMs: 3_600_000};

const start = {sender: 'a@one.test', isUtf8: false, isEightBit: false};
const content = contentOf(Buffer.from('Subject: x\r\n\r\nhello\r\n'));
const prefix = Buffer.from('Received: from here\r\n');

test('the prefix goes before the content, and one connection serves mail after mail', async t => {
  const sink = await startSmtpSink(t);
  const pool = openPool(t);

  for (let n = 0; n < 3; n++) {
    const transaction = pool.openTransaction({servers: [sink.server]}, start);
    await transaction.rcpt('b@two.test');
    t.like(await transaction.data(content, prefix), {code: 250});
  }

  t.is(sink.connectionCount(), 1);
  t.is(sink.mails.length, 3);
  t.is(sink.mails[2]?.content.toString(), 'Received: from here\r\nSubject: x\r\n\r\nhello\r\n');
});

test('nothing is sent before the first recipient', async t => {
  const sink = await startSmtpSink(t);

  openPool(t)
    .openTransaction({servers: [sink.server]}, start)
    .abort();

  t.is(sink.connectionCount(), 0);
});

test('an aborted transaction leaves a connection the next mail can use, without the old recipients', async t => {
  const sink = await startSmtpSink(t);
  const pool = openPool(t);
  const first = pool.openTransaction({servers: [sink.server]}, start);
  await first.rcpt('old@two.test');
  first.abort();
  await untilIdle();

  const second = pool.openTransaction({servers: [sink.server]}, start);
  await second.rcpt('new@two.test');
  await second.data(content, prefix);

  t.is(sink.connectionCount(), 1);
  t.deepEqual(
    sink.mails.map(mail => mail.recipients),
    [['new@two.test']],
  );
});

test('aborting while a reply is awaited does not hand its reply to the next mail', async t => {
  let asking: Socket | undefined;
  const {server} = await startScriptedServer(t, (line, socket) => {
    if (!line.includes('old@two.test')) return undefined;
    asking = socket;
    return '';
  });
  const pool = openPool(t);
  const first = pool.openTransaction({servers: [server]}, start);
  const asked = first.rcpt('old@two.test');
  const socket = await eventually(() => asking);
  first.abort();

  socket.write('550 5.1.1 the old one is not here\r\n');

  t.like(await asked, {code: 451});
  const second = pool.openTransaction({servers: [server]}, start);
  t.like(await second.rcpt('new@two.test'), {code: 250});
});

test('the next server is used when the first is down, in the order given', async t => {
  const down = await closedPort();
  const [second, third] = [await startSmtpSink(t), await startSmtpSink(t)];
  const failures: string[] = [];
  const pool = openPool(t, {retryPause: never, onFailure: (server, detail) => failures.push(`${server.port} ${detail}`)});

  const transaction = pool.openTransaction({servers: [down, second.server, third.server]}, start);
  t.like(await transaction.rcpt('b@two.test'), {code: 250});
  await transaction.data(content, prefix);

  t.is(second.mails.length, 1);
  t.is(third.connectionCount(), 0);
  t.regex(failures.join(), new RegExp(`^${down.port} nothing listens there$`));
});

test('a server that closes after its greeting counts as down, one that refuses the recipient does not', async t => {
  const closing = await startScriptedServer(t, line => (line.startsWith('MAIL') ? '421 4.3.2 too busy\r\n' : undefined));
  const refusing = await startSmtpSink(t, {recipients: {'b@two.test': {code: 550, text: '5.1.1 no such user'}}});
  const never = await startSmtpSink(t);
  const pool = openPool(t);

  const transaction = pool.openTransaction({servers: [closing.server, refusing.server, never.server]}, start);

  t.like(await transaction.rcpt('b@two.test'), {code: 550, text: '5.1.1 no such user'});
  t.is(never.connectionCount(), 0);
});

test('with no server to be reached every recipient and the content are answered 451 4.4.1', async t => {
  const pool = openPool(t);
  const transaction = pool.openTransaction({servers: [await closedPort()]}, start);

  t.like(await transaction.rcpt('b@two.test'), {code: 451});
  t.regex((await transaction.rcpt('c@two.test')).text, /^4\.4\.1 /);
  t.like(await transaction.data(content, prefix), {code: 451});
  t.regex((await pool.openTransaction({servers: []}, start).rcpt('b@two.test')).text, /^4\.4\.1 /);
});

const sendOne = async (pool: ReturnType<typeof openPool>, servers: HostPort[]) => {
  const transaction = pool.openTransaction({servers}, start);
  await transaction.rcpt('b@two.test');
  return (await transaction.data(content, prefix)).code;
};

test('a server that does not answer is tried last by the mails that follow, until one has used it', async t => {
  const first = await closedPort();
  const second = await startSmtpSink(t);
  const failures: number[] = [];
  const pool = openPool(t, {retryPause: never, onFailure: ({port}) => failures.push(port)});
  const servers = [first, second.server];

  t.is(await sendOne(pool, servers), 250);
  const late = await startSmtpSink(t, {listen: first});
  t.is(await sendOne(pool, servers), 250);
  t.deepEqual([late.mails.length, second.mails.length], [0, 2]);
  t.deepEqual(failures, [first.port]);

  t.is(await sendOne(pool, [first]), 250);
  t.is(await sendOne(pool, servers), 250);
  t.deepEqual([late.mails.length, second.mails.length], [2, 2], 'the one that answered is the first again');
});

test('a server that did not answer is tried when the others do not either', async t => {
  const [first, second] = [await closedPort(), await closedPort()];
  const pool = openPool(t, {retryPause: never});
  t.is(await sendOne(pool, [first, second]), 451);

  const late = await startSmtpSink(t, {listen: second});

  t.is(await sendOne(pool, [first, second]), 250);
  t.is(late.mails.length, 1);
});

test('a server that did not answer is used again once it does, without a mail that tries it', async t => {
  const first = await closedPort();
  const second = await startSmtpSink(t);
  const pool = openPool(t, {retryPause: {firstMs: 10, mostMs: 10}});
  await sendOne(pool, [first, second.server]);

  const back = await startSmtpSink(t, {listen: first});

  await eventually(async () => {
    await sendOne(pool, [first, second.server]);
    return back.mails.length > 0;
  });
  t.true(back.connectionCount() > 1, 'it was tried before');
});

test('a server that says why it takes no mail is asked again by the next one', async t => {
  const busy = await startScriptedServer(t, line => (line.startsWith('MAIL') ? '421 4.3.2 too busy\r\n' : undefined));
  const second = await startSmtpSink(t);
  const pool = openPool(t, {retryPause: never});

  for (const _ of [1, 2]) await sendOne(pool, [busy.server, second.server]);

  t.is(busy.lines.filter(line => line.startsWith('MAIL')).length, 2);
  t.is(second.mails.length, 2);
});

test('a server that accepts connections and says nothing is tried last from then on', async t => {
  const mute = await startScriptedServer(t, () => undefined, '');
  const second = await startScriptedServer(t, () => undefined);
  const pool = openPool(t, {retryPause: never, timeouts: {greetingMs: 1000}});

  for (const _ of [1, 2]) t.is(await sendOne(pool, [mute.server, second.server]), 250);

  t.is(mute.connectionCount(), 1);
});

test('a kept connection is asked for a sign of life before it is used, unless it was used a moment ago', async t => {
  const {server, lines} = await startScriptedServer(t, () => undefined);
  const busy = openPool(t, {checkAfterMs: 60_000});
  const calm = openPool(t, {checkAfterMs: 0});
  const commands = () => lines.map(line => line.split(/[ :]/)[0]).filter(word => ['EHLO', 'NOOP', 'MAIL'].includes(word ?? ''));

  for (const _ of [1, 2]) await sendOne(busy, [server]);
  t.deepEqual(commands(), ['EHLO', 'MAIL', 'MAIL']);
  lines.length = 0;
  for (const _ of [1, 2]) await sendOne(calm, [server]);
  t.deepEqual(commands(), ['EHLO', 'MAIL', 'NOOP', 'MAIL']);
});

test('of kept connections that lead nowhere one is asked, and none is used', async t => {
  const mute = new Set<Socket>();
  const sockets = new Set<Socket>();
  const {server, lines} = await startScriptedServer(t, (line, socket) => {
    if (line.startsWith('EHLO')) sockets.add(socket);
    return mute.has(socket) ? '' : undefined;
  });
  const pool = openPool(t, {checkAfterMs: 0, timeouts: {checkMs: 1000}});
  await Promise.all([1, 2, 3].map(async () => sendOne(pool, [server])));
  const count = (word: string) => lines.filter(line => line.startsWith(word)).length;
  t.deepEqual([count('EHLO'), count('NOOP')], [3, 0]);

  for (const socket of sockets) mute.add(socket);

  t.is(await sendOne(pool, [server]), 250);
  t.deepEqual([count('EHLO'), count('NOOP'), count('MAIL')], [4, 1, 4]);
  await Promise.all([1, 2].map(async () => sendOne(pool, [server])));
  t.deepEqual([count('EHLO'), count('NOOP'), count('MAIL')], [5, 2, 6]);
});

test('a transaction that was given up and not reset yet is reset by the question', async t => {
  const {server, lines} = await startScriptedServer(t, pipelining);
  const pool = openPool(t, {checkAfterMs: 0});
  const first = pool.openTransaction({servers: [server]}, start);
  await first.rcpt('old@two.test');

  first.abort();
  t.is(await sendOne(pool, [server]), 250);

  const between = lines.slice(lines.indexOf('RCPT TO:<old@two.test>') + 1, lines.indexOf('RCPT TO:<b@two.test>'));
  t.deepEqual(between, ['RSET', 'MAIL FROM:<a@one.test>']);
});

test('signs of life count towards the mails of a connection: servers limit what comes between two', async t => {
  const {server, lines} = await startScriptedServer(t, () => undefined);
  const pool = openPool(t, {checkAfterMs: 0, maxMailsPerConnection: 3});

  for (const _ of [1, 2, 3]) await sendOne(pool, [server]);

  t.is(lines.filter(line => line.startsWith('EHLO')).length, 2);
});

test('a backend that is a node of the own cluster is passed over, and hears no more than EHLO', async t => {
  const keyword = 'X-MFD-0123456789abcdef';
  const member = await startScriptedServer(t, line =>
    line.startsWith('EHLO') ? `250-member.test\r\n250-PIPELINING\r\n250 ${keyword}\r\n` : undefined,
  );
  const other = await startSmtpSink(t);
  const failures: string[] = [];
  const onFailure = ({port}: {port: number}, detail: string) => failures.push(`${port} ${detail}`);
  const pool = openPool(t, {ownKeyword: keyword, onFailure});

  t.like(await pool.openTransaction({servers: [member.server, other.server]}, start).rcpt('b@two.test'), {code: 250});
  const alone = await pool.openTransaction({servers: [member.server]}, start).rcpt('b@two.test');

  t.like(alone, {code: 451});
  t.deepEqual(member.lines, ['EHLO gate.test', 'EHLO gate.test']);
  t.deepEqual(failures, Array(2).fill(`${member.server.port} it is a node of this cluster: its mail would go in circles`));
  const elsewhere = openPool(t, {ownKeyword: 'X-MFD-fedcba9876543210'});
  t.like(await elsewhere.openTransaction({servers: [member.server]}, start).rcpt('b@two.test'), {code: 250});
});

test('a sender the backend refuses is refused for every recipient, in its words', async t => {
  const sink = await startSmtpSink(t, {senders: {'a@one.test': {code: 553, text: '5.7.1 not from you'}}});
  const transaction = openPool(t).openTransaction({servers: [sink.server]}, start);

  t.like(await transaction.rcpt('b@two.test'), {code: 553, text: '5.7.1 not from you'});
  t.like(await transaction.rcpt('c@two.test'), {code: 553, text: '5.7.1 not from you'});
  t.deepEqual(sink.steps, ['MAIL a@one.test']);
});

test('a pooled connection the server has closed is replaced without anybody noticing', async t => {
  const sink = await startSmtpSink(t);
  const pool = openPool(t);
  const first = pool.openTransaction({servers: [sink.server]}, start);
  await first.rcpt('b@two.test');
  await first.data(content, prefix);

  sink.dropConnections();
  const second = pool.openTransaction({servers: [sink.server]}, start);

  t.like(await second.rcpt('b@two.test'), {code: 250});
  t.like(await second.data(content, prefix), {code: 250});
  t.is(sink.connectionCount(), 2);
});

test('a connection lost between RCPT and DATA is replaced and the envelope said again, once', async t => {
  const sink = await startSmtpSink(t);
  const transaction = openPool(t).openTransaction({servers: [sink.server]}, start);
  await transaction.rcpt('b@two.test');
  await transaction.rcpt('c@two.test');

  sink.dropConnections();
  const reply = await transaction.data(content, prefix);

  t.like(reply, {code: 250});
  t.is(sink.mails.length, 1);
  t.deepEqual(sink.mails[0]?.recipients, ['b@two.test', 'c@two.test']);
});

test('a recipient refused when the envelope is said again defers the whole mail', async t => {
  const sink = await startSmtpSink(t);
  const transaction = openPool(t).openTransaction({servers: [sink.server]}, start);
  await transaction.rcpt('b@two.test');
  await transaction.rcpt('c@two.test');

  sink.behave({recipients: {'c@two.test': {code: 550, text: '5.1.1 gone'}}});
  sink.dropConnections();

  t.regex((await transaction.data(content, prefix)).text, /^4\.4\.2 .*changed its mind/);
  t.is(sink.mails.length, 0);
});

test('nothing is sent twice once the content has begun, and the outcome is a deferral', async t => {
  for (const drop of ['within-data', 'after-final-dot'] as const) {
    const sink = await startSmtpSink(t, {drop});
    const transaction = openPool(t).openTransaction({servers: [sink.server]}, start);
    await transaction.rcpt('b@two.test');

    const reply = await transaction.data(content, prefix);

    t.like(reply, {code: 451}, drop);
    t.regex(reply.text, /^4\.4\.2 /);
    t.deepEqual(sink.steps, ['MAIL a@one.test', 'RCPT b@two.test', 'DATA'], drop);
  }
});

test('what the backend says after the final dot is the reply, and the connection lives on', async t => {
  const sink = await startSmtpSink(t, {final: {code: 552, text: '5.2.2 mailbox full'}});
  const pool = openPool(t);
  const transaction = pool.openTransaction({servers: [sink.server]}, start);
  await transaction.rcpt('b@two.test');

  t.like(await transaction.data(content, prefix), {code: 552, text: '5.2.2 mailbox full'});
  sink.behave({});
  await untilIdle();
  const next = pool.openTransaction({servers: [sink.server]}, start);
  await next.rcpt('b@two.test');
  t.like(await next.data(content, prefix), {code: 250});
  t.is(sink.connectionCount(), 1);
});

test('idle connections end after a while, beyond their number and when the pool closes', async t => {
  const {server, lines} = await startScriptedServer(t, () => undefined);
  const quits = () => lines.filter(line => line === 'QUIT').length;
  const use = async (pool: ReturnType<typeof openPool>) => {
    const transaction = pool.openTransaction({servers: [server]}, start);
    await transaction.rcpt('b@two.test');
    return transaction;
  };

  const brief = openPool(t, {idleMs: 50});
  (await use(brief)).abort();
  await eventually(() => quits() === 1);

  const single = openPool(t, {maxIdlePerServer: 1});
  const both = [await use(single), await use(single)];
  await both[0]?.data(content, prefix);
  await both[1]?.data(content, prefix);
  await untilIdle();
  t.is(quits(), 2);

  await single.close();
  t.is(quits(), 3);
});

test('a connection that is logged in is not lent to a route without login', async t => {
  const sink = await startSmtpSink(t, {auth: {username: 'gate', password: 'secret'}});
  const pool = openPool(t);
  const routes = [{servers: [sink.server], auth: {username: 'gate', password: 'secret'}}, {servers: [sink.server]}];

  for (const route of routes) {
    const transaction = pool.openTransaction(route, start);
    await transaction.rcpt('b@two.test');
    await transaction.data(content, prefix);
  }

  t.deepEqual(
    sink.mails.map(mail => mail.user),
    ['gate', undefined],
  );
});

const untilIdle = () => pause(500);

const pipelining = (line: string) => (line.startsWith('EHLO') ? '250-scripted.test\r\n250 PIPELINING\r\n' : undefined);

test('a transaction that was given up is reset along with the next one, before anything of that is taken', async t => {
  const {server, lines} = await startScriptedServer(t, pipelining);
  const pool = openPool(t);
  const first = pool.openTransaction({servers: [server]}, start);
  await first.rcpt('old@two.test');

  first.abort();
  const second = pool.openTransaction({servers: [server]}, start);
  const answer = await second.rcpt('new@two.test');

  t.like(answer, {code: 250});
  t.deepEqual(
    lines.filter(line => !line.startsWith('EHLO')),
    ['MAIL FROM:<a@one.test>', 'RCPT TO:<old@two.test>', 'RSET', 'MAIL FROM:<a@one.test>', 'RCPT TO:<new@two.test>'],
  );
});

test('a transaction that was given up is reset though no next one comes', async t => {
  const {server, lines} = await startScriptedServer(t, pipelining);
  const pool = openPool(t);
  const only = pool.openTransaction({servers: [server]}, start);
  await only.rcpt('old@two.test');

  only.abort();

  await eventually(async () => lines.at(-1) === 'RSET');
  t.pass();
});

test('of commands in one piece each has its own reply: a refused sender, a refused recipient', async t => {
  const refuseSender = (line: string) => (line.startsWith('MAIL') ? '550 5.7.1 not you\r\n' : undefined);
  const refuseRecipient = (line: string) => (line.startsWith('RCPT') ? '550 5.1.1 who\r\n' : undefined);
  const one = await startScriptedServer(t, line => pipelining(line) ?? refuseSender(line));
  const other = await startScriptedServer(t, line => pipelining(line) ?? refuseRecipient(line));
  const pool = openPool(t);

  const sender = await pool.openTransaction({servers: [one.server]}, start).rcpt('b@two.test');
  const recipient = await pool.openTransaction({servers: [other.server]}, start).rcpt('b@two.test');

  t.like(sender, {code: 550, text: '5.7.1 not you'});
  t.like(recipient, {code: 550, text: '5.1.1 who'});
});

test('a server that does not take the reset gets the mail on another connection', async t => {
  const {server, lines} = await startScriptedServer(t, line => pipelining(line) ?? (line === 'RSET' ? '451 no\r\n' : undefined));
  const pool = openPool(t);
  const first = pool.openTransaction({servers: [server]}, start);
  await first.rcpt('old@two.test');
  first.abort();

  const answer = await pool.openTransaction({servers: [server]}, start).rcpt('new@two.test');

  t.like(answer, {code: 250});
  t.is(lines.filter(line => line.startsWith('EHLO')).length, 2);
});
