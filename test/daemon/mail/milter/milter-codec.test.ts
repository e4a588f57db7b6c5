import test from 'ava';
import {
  createCommandReader,
  encodeReplies,
  type MilterCommand,
  MilterError,
} from '../../../../daemon/mail/milter/milter-codec.ts';
import {frame, texts, uint32} from '../../../helpers/milter.ts';
import {chunksOf} from '../../../helpers/received-mail.ts';

const read = (bytes: Buffer, chunkBytes = bytes.length): MilterCommand[] => {
  const reader = createCommandReader();
  const commands: MilterCommand[] = [];
  for (const chunk of chunksOf(bytes, chunkBytes)) {
    reader.push(chunk);
    for (let command = reader.next(); command; command = reader.next()) commands.push(command);
  }
  return commands;
};

const one = (bytes: Buffer) => read(bytes)[0];

test('every command of a dialogue is read, however it is cut', t => {
  const dialogue = Buffer.concat([
    frame('O', uint32(6, 0x1ff, 0x1f_ffff)),
    frame('D', 'C', texts('j', 'mx.test', '{daemon_name}', 'mx.test')),
    frame('C', texts('[127.0.0.1]'), '4', Buffer.from([0xbb, 0x5e]), texts('127.0.0.1')),
    frame('D', 'H'),
    frame('H', texts('client.test')),
    frame('M', texts('<a@example.net>', 'SIZE=100', 'SMTPUTF8')),
    frame('R', texts('<grüße@example.com>')),
    frame('T'),
    frame('L', texts('Subject', ' hi\n  there')),
    frame('N'),
    frame('B', 'body\r\n'),
    frame('E', 'rest'),
    frame('U', texts('FOO')),
    frame('A'),
    frame('K'),
    frame('Q'),
  ]);

  const commands = read(dialogue);

  t.deepEqual(commands, [
    {kind: 'negotiate', version: 6, actions: 0x1ff, protocol: 0x1f_ffff},
    {
      kind: 'macros',
      stage: 'C',
      macros: new Map([
        ['j', 'mx.test'],
        ['{daemon_name}', 'mx.test'],
      ]),
    },
    {kind: 'connect', hostname: '[127.0.0.1]', family: '4', port: 47_966, address: '127.0.0.1'},
    {kind: 'macros', stage: 'H', macros: new Map()},
    {kind: 'helo', name: 'client.test'},
    {kind: 'mail', address: '<a@example.net>', parameters: ['SIZE=100', 'SMTPUTF8']},
    {kind: 'rcpt', address: '<grüße@example.com>', parameters: []},
    {kind: 'data'},
    {kind: 'header', name: 'Subject', value: ' hi\n  there'},
    {kind: 'end-of-header'},
    {kind: 'body', chunk: Buffer.from('body\r\n')},
    {kind: 'end-of-body', chunk: Buffer.from('rest')},
    {kind: 'unknown'},
    {kind: 'abort'},
    {kind: 'quit-connection'},
    {kind: 'quit'},
  ]);
  for (const chunkBytes of [1, 2, 3, 7, 100]) t.deepEqual(read(dialogue, chunkBytes), commands, `${chunkBytes}`);
});

test('what a command holds is its own, whatever comes behind it', t => {
  const reader = createCommandReader();
  reader.push(frame('B', 'first'));
  const first = reader.next();

  reader.push(frame('B', 'other'));
  reader.next();

  t.deepEqual(first, {kind: 'body', chunk: Buffer.from('first')});
});

test('header values keep bytes that are no UTF-8', t => {
  const command = one(frame('L', texts('Subject'), Buffer.from([0x20, 0xfc, 0xdf, 0])));

  t.deepEqual(command, {kind: 'header', name: 'Subject', value: ' \xfc\xdf'});
});

test('a client of unknown address, on a unix socket or with IPv6 is read', t => {
  t.like(one(frame('C', texts('unknown'), 'U')), {family: 'U', address: ''});
  t.like(one(frame('C', texts('localhost'), 'L', Buffer.alloc(2), texts('/run/x'))), {family: 'L', address: '/run/x'});
  t.like(one(frame('C', texts('h'), '6', Buffer.from([0, 25]), texts('IPv6:::1'))), {family: '6', port: 25, address: 'IPv6:::1'});
});

test('a frame that is no command of the protocol is an error', t => {
  const wrong = {
    empty: uint32(0),
    'too long': uint32(0xffff_ffff),
    'longer than any': uint32(1024 * 1024 + 1),
    'an unknown letter': frame('x'),
    'a letter that an object has': frame('_'),
    'no letter': frame('\0'),
    'a short negotiation': frame('O', uint32(6, 1)),
    'macros without a stage': frame('D'),
    'half a macro': frame('D', 'C', texts('j')),
    'a macro without an end': frame('D', 'C', 'j\0x'),
    'a client without a family': frame('C', texts('host')),
    'a client without an end of its name': frame('C', 'host'),
    'a client of another family': frame('C', texts('host'), '5', Buffer.alloc(2), texts('x')),
    'a client without a port': frame('C', texts('host'), '4', 'a'),
    'a client without an address': frame('C', texts('host'), '4', Buffer.alloc(2)),
    'a greeting without a name': frame('H'),
    'two greetings': frame('H', texts('a', 'b')),
    'a sender without an end': frame('M', '<a@b>'),
    'no sender': frame('M'),
    'no recipient': frame('R'),
    'half a header': frame('L', texts('Subject')),
    'a header and more': frame('L', texts('Subject', 'x', 'y')),
    'data after DATA': frame('T', 'x'),
    'data after an abort': frame('A', '\0'),
  };

  for (const [what, bytes] of Object.entries(wrong)) t.throws(() => read(bytes), {instanceOf: MilterError}, what);
});

test('a command that comes byte by byte costs no more than its size', t => {
  const reader = createCommandReader();
  const bytes = frame('B', Buffer.alloc(900_000, 'x'));
  const before = process.memoryUsage().rss;

  for (let at = 0; at < bytes.length; at += 1) reader.push(bytes.subarray(at, at + 1));

  t.like(reader.next(), {kind: 'body'});
  t.is(reader.bufferedBytes, 0);
  t.true(process.memoryUsage().rss - before < 100_000_000);
});

test('replies are framed as libmilter frames them', t => {
  const encoded = (reply: Parameters<typeof encodeReplies>[0][number]) => encodeReplies([reply]).toString('latin1');

  t.is(encoded({kind: 'continue'}), '\0\0\0\x01c');
  t.is(encoded({kind: 'accept'}), '\0\0\0\x01a');
  t.is(encoded({kind: 'reply', code: 550, text: '5.7.1 No'}), '\0\0\0\x0ey550 5.7.1 No\0');
  t.is(encoded({kind: 'add-header', name: 'X-A', value: ' 1'}), '\0\0\0\x08hX-A\0 1\0');
  t.is(encoded({kind: 'insert-header', index: 0, name: 'X-A', value: '1'}), '\0\0\0\x0bi\0\0\0\0X-A\x001\0');
  t.is(encoded({kind: 'change-header', index: 2, name: 'X-A', value: ''}), '\0\0\0\x0am\0\0\0\x02X-A\0\0');
  t.is(encoded({kind: 'quarantine', reason: 'spam'}), '\0\0\0\x06qspam\0');
  t.is(
    encoded({kind: 'negotiate', version: 6, actions: 1, protocol: 2, macros: [[5, 'i']]}),
    '\0\0\0\x13O\0\0\0\x06\0\0\0\x01\0\0\0\x02\0\0\0\x05i\0',
  );
});

test('a text can neither end its reply nor be taken for a format', t => {
  const bytes = encodeReplies([
    {kind: 'reply', code: 451, text: '4.0.0 50%\r\n250 fine\0 grüße'},
    {kind: 'add-header', name: 'X-A', value: ' a\r\n\tb\0c'},
  ]);

  t.deepEqual(bytes, Buffer.concat([frame('y', texts('451 4.0.0 50%% 250 fine  gr e')), frame('h', texts('X-A', ' a\n\tb?c'))]));
});
