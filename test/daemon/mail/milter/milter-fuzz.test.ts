// Arbitrary input from a milter peer: no uncaught exception, no unbounded memory, and an answer or the end of the connection.
import {mkdtemp, rm} from 'node:fs/promises';
import {connect} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import fc from 'fast-check';
import {
  createCommandReader,
  encodeReplies,
  type MilterCommand,
  MilterError,
  type MilterReply,
} from '../../../../daemon/mail/milter/milter-codec.ts';
import {negotiate} from '../../../../daemon/mail/milter/milter-options.ts';
import {createMilterSession, type SessionAction} from '../../../../daemon/mail/milter/milter-session.ts';
import {anyCharacter} from '../../../helpers/any-character.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {claim} from '../../../helpers/gateway.ts';
import {connectPeer, frame, framesOf, offered, startTestMilter, texts, uint32} from '../../../helpers/milter.ts';
import {chunksOf} from '../../../helpers/received-mail.ts';

const newSession = () =>
  createMilterSession({isTrusted: () => false, intake: {claim, canTakeMail: () => undefined}, refusals: {record() {}}});

/** All commands in `bytes`, or the error in them. */
const readAll = (bytes: Buffer, chunkBytes: number): {commands: MilterCommand[]; error: string | undefined} => {
  const reader = createCommandReader();
  const commands: MilterCommand[] = [];
  try {
    for (const chunk of chunksOf(bytes, chunkBytes)) {
      reader.push(chunk);
      for (let command = reader.next(); command; command = reader.next()) commands.push(command);
    }
    return {commands, error: undefined};
  } catch (error) {
    if (!(error instanceof MilterError)) throw error;
    return {commands, error: error.message};
  }
};

const address = fc.constantFrom(
  '<a@one.test>',
  '<b@two.test>',
  '<c@strange.test>',
  '<>',
  '<d@closed.test>',
  '',
  '<@x:y>',
  '\ufffd',
);
const pairs = fc.array(
  fc.tuple(fc.constantFrom('i', '{rcpt_addr}', '{mail_addr}', '{auth_authen}', '{rcpt_mailer}'), fc.string({maxLength: 20})),
  {maxLength: 3},
);
const command: fc.Arbitrary<MilterCommand> = fc.oneof(
  fc.record({
    kind: fc.constant('macros' as const),
    stage: fc.constantFrom(...'CHMRTLNBEUx'),
    macros: pairs.map(list => new Map(list)),
  }),
  fc.record({
    kind: fc.constant('connect' as const),
    hostname: fc.string(),
    family: fc.constantFrom('4', '6', 'L', 'U'),
    port: fc.nat(65_535),
    address: fc.constantFrom('192.0.2.5', '::1', '127.0.0.1', 'x', ''),
  }),
  fc.record({kind: fc.constant('helo' as const), name: fc.string()}),
  fc.record({
    kind: fc.constantFrom('mail' as const, 'rcpt' as const),
    address,
    parameters: fc.array(fc.string(), {maxLength: 2}),
  }),
  fc.record({kind: fc.constant('header' as const), name: fc.string(), value: fc.string()}),
  fc.record({
    kind: fc.constantFrom('body' as const, 'end-of-body' as const),
    chunk: fc.uint8Array({maxLength: 50}).map(bytes => Buffer.from(bytes)),
  }),
  fc.constantFrom('data', 'end-of-header', 'unknown', 'abort', 'quit', 'quit-connection').map(kind => ({kind}) as MilterCommand),
);

/** A valid dialogue, so that changed versions of it get far. */
const sensible: MilterCommand[] = [
  {kind: 'connect', hostname: 'mx', family: '4', port: 1, address: '192.0.2.5'},
  {kind: 'helo', name: 'mx'},
  {kind: 'mail', address: '<ada@example.net>', parameters: []},
  {kind: 'rcpt', address: '<a@one.test>', parameters: []},
  {kind: 'data'},
  {kind: 'header', name: 'Subject', value: ' x'},
  {kind: 'body', chunk: Buffer.from('x')},
  {kind: 'end-of-body', chunk: Buffer.alloc(0)},
];

test('arbitrary bytes are read the same however they are cut, or are an error', t => {
  fc.assert(
    fc.property(fc.uint8Array({maxLength: 300}), fc.integer({min: 1, max: 50}), (raw, chunkBytes) => {
      const bytes = Buffer.from(raw);
      t.deepEqual(readAll(bytes, chunkBytes), readAll(bytes, bytes.length || 1));
    }),
    {numRuns: 500},
  );
});

test('frames of any letter and any data are read as commands, or are an error', t => {
  const frames = fc.array(fc.tuple(fc.constantFrom(...'ODCHMRTLNBEUAKQx'), fc.uint8Array({maxLength: 40})), {maxLength: 8});
  fc.assert(
    fc.property(frames, fc.integer({min: 1, max: 50}), (list, chunkBytes) => {
      const bytes = Buffer.concat(list.map(([letter, data]) => frame(letter, Buffer.from(data))));
      t.deepEqual(readAll(bytes, chunkBytes), readAll(bytes, bytes.length || 1));
    }),
    {numRuns: 1000},
  );
});

test('in whatever order commands come, each that waits for an answer gets exactly one, or the session ends', t => {
  const orders = fc.oneof(
    fc.array(command, {maxLength: 30}),
    // The dialogue with some commands removed, doubled or inserted.
    fc
      .array(fc.tuple(fc.constantFrom(...sensible.keys()), fc.option(command, {freq: 3}), fc.nat(2)), {maxLength: 12})
      .map(changes => {
        const dialogue = [...sensible, ...sensible.slice(2), ...sensible.slice(2)];
        for (const [at, other, removed] of changes) dialogue.splice(at, removed, ...(other ? [other] : []));
        return dialogue;
      }),
  );
  fc.assert(
    fc.property(orders, fc.integer({min: 0, max: 0x1f_ffff}), fc.boolean(), (commands, protocol, isJudgedAtOnce) => {
      const session = newSession();
      const {isAnswered} = negotiate({...offered, protocol});
      session.receive({kind: 'negotiate', ...offered, protocol});
      try {
        for (const next of commands) {
          const actions = session.receive(next);
          const judge = actions.find(action => action.kind === 'judge');
          if (judge?.kind === 'judge') {
            t.is(answersIn(actions), 0);
            t.true(session.isJudging(judge.mail) && session.isMailUnderWay);
            t.false(judge.mail.envelope.recipients.length === 0);
            if (isJudgedAtOnce) t.is(answersIn(session.judged(judge.mail, [{kind: 'accept'}])), 1);
          } else t.is(answersIn(actions), isAnswered(next.kind) ? 1 : 0, next.kind);
          encodeReplies(actions.flatMap(action => (action.kind === 'answer' ? action.replies : [])));
        }
      } catch (error) {
        if (!(error instanceof MilterError)) throw error;
      }
    }),
    {numRuns: 3000},
  );
  t.pass();
});

const answersIn = (actions: SessionAction[]): number => actions.filter(action => action.kind === 'answer').length;

test('whatever texts are answered, the peer reads as many frames as replies', t => {
  const anyText = fc.string({unit: anyCharacter, maxLength: 60});
  const reply: fc.Arbitrary<MilterReply> = fc.oneof(
    fc.record({kind: fc.constant('reply' as const), code: fc.constantFrom(451, 550), text: anyText}),
    fc.record({kind: fc.constant('add-header' as const), name: anyText, value: anyText}),
    fc.record({kind: fc.constant('change-header' as const), index: fc.nat(), name: anyText, value: anyText}),
    fc.record({kind: fc.constant('quarantine' as const), reason: anyText}),
    fc.constant({kind: 'accept' as const}),
  );
  fc.assert(
    fc.property(fc.array(reply, {maxLength: 6}), replies => {
      let bytes = encodeReplies(replies);
      for (const {kind} of replies) {
        const sizeBytes = bytes.readUInt32BE(0);
        const data = bytes.subarray(5, 4 + sizeBytes);
        const nuls = data.subarray(kind === 'change-header' ? 4 : 0).filter(byte => byte === 0).length;
        t.is(nuls, {accept: 0, reply: 1, quarantine: 1}[kind as string] ?? 2);
        bytes = bytes.subarray(4 + sizeBytes);
      }
      t.is(bytes.length, 0);
    }),
  );
});

test('a real dialogue with bytes changed is answered, or its connection closed; others go on and nothing is left', async t => {
  const milter = await startTestMilter(t);
  const {start, recipients, data, content, end} = framesOf({body: 'x'.repeat(1000)});
  const dialogue = Buffer.concat([
    frame('O', uint32(offered.version, offered.actions, offered.protocol)),
    frame('C', texts('mx.example.net'), '4', Buffer.from([0x30, 0x39]), texts('192.0.2.5')),
    frame('H', texts('mx.example.net')),
    ...[1, 2].flatMap(() => [start, ...recipients, data, content, end]),
    frame('A'),
    frame('Q'),
  ]);

  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(dialogue.length - 1), fc.nat(255)), {maxLength: 4}),
      fc.nat(dialogue.length),
      fc.integer({min: 10, max: 3000}),
      async (changes, length, chunkBytes) => {
        const bytes = Buffer.from(dialogue.subarray(0, length));
        for (const [at, value] of changes) if (at < length) bytes[at] = value;
        const socket = connect({...milter.address, noDelay: true});
        const closed = new Promise(resolve => socket.once('close', resolve));
        socket.on('error', () => undefined).resume();
        for (const chunk of chunksOf(bytes, chunkBytes)) {
          socket.write(chunk);
          await new Promise(resolve => setImmediate(resolve));
        }
        socket.end();
        await closed;
      },
    ),
    {numRuns: 150},
  );

  const peer = await connectPeer(milter.address);
  t.is((await peer.mail()).answers.at(-1)?.letter, 'a');
  peer.destroy();
  await eventually(async () => (await milter.spilled()).length === 0);
  t.deepEqual(
    milter.logged.filter(line => line.includes('after an error') || line.includes('could not be accepted')),
    [],
  );
});

test('a peer that sends without end and reads nothing costs no more than a little', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'mfd-milter-socket-'));
  t.teardown(() => rm(folder, {recursive: true}));
  // The operating system buffers little for a unix socket.
  const milter = await startTestMilter(t, {listen: {path: join(folder, 'milter.sock')}});
  const peer = await connectPeer(milter.address);
  const flood = Buffer.concat(Array.from({length: 20_000}, () => frame('M', texts('<a@b.test>'))));
  const socket = connect({...milter.address});
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.write(frame('O', uint32(2, 0x3f, 0x7f)));
  socket.write(frame('C', texts('h'), 'U'));
  const before = process.memoryUsage().rss;

  let isFull = false;
  for (let n = 0; n < 100 && !isFull; n += 1) {
    socket.write(flood);
    isFull = socket.writableLength > 20_000_000;
    await new Promise(resolve => setImmediate(resolve));
  }

  t.true(isFull, 'it is not read any more');
  t.true(process.memoryUsage().rss - before < 200_000_000);
  t.is((await peer.mail()).answers.at(-1)?.letter, 'a');
  peer.destroy();
});
