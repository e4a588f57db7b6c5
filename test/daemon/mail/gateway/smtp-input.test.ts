import test from 'ava';
import {type ContentState, createSmtpInput, LineTooLong, readContent} from '../../../../daemon/mail/gateway/smtp-input.ts';

const flow = {pause: () => {}, resume: () => {}};

const collect = async (content: AsyncIterable<Buffer>): Promise<string> => {
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts).toString('latin1');
};

/** The content and what follows it, by the words of RFC 5321 section 4.5.2, for input that is there as a whole. */
const asWritten = (wire: string): {content: string; after: string} | undefined => {
  let content = '';
  let rest = wire;
  for (;;) {
    const end = rest.indexOf('\r\n');
    if (end < 0) return undefined;
    const line = rest.slice(0, end);
    rest = rest.slice(end + 2);
    if (line === '.') return {content, after: rest};
    content += `${line.startsWith('.') ? line.slice(1) : line}\r\n`;
  }
};

test('content is what a line by line reading makes of it, wherever it is cut', t => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  let ended = 0;
  for (let n = 0; n < 20_000; n += 1) {
    const wire = Array.from({length: random(14)}, () => ['.', '\r', '\n', '\r\n', 'a', '..', '\r\n.'][random(7)]).join('');
    let state: ContentState | undefined = 'at-line-start';
    let rest = Buffer.alloc(0);
    let content = '';
    for (let at = 0; at < wire.length && state; ) {
      const length = 1 + random(4);
      const part = readContent(Buffer.concat([rest, Buffer.from(wire.slice(at, at + length))]), state);
      content += part.bytes.toString();
      ({rest, state} = part as {rest: Buffer<ArrayBuffer>; state: ContentState | undefined});
      at += length;
      if (!state) rest = Buffer.concat([rest, Buffer.from(wire.slice(at))]);
    }
    const wanted = asWritten(wire);
    t.is(state === undefined, wanted !== undefined, JSON.stringify(wire));
    if (!wanted) continue;
    ended += 1;
    t.deepEqual({content, after: rest.toString()}, wanted, JSON.stringify(wire));
  }
  t.true(ended > 2000);
});

test('commands, content, and commands after it are told apart in one chunk', async t => {
  const input = createSmtpInput(flow);
  input.push(Buffer.from('DATA\r\n.\r\nNOOP\nDATA\r\n..a\r\n.b\r\n.\r\nQUIT\r\n'));

  t.is(String(await input.line()), 'DATA');
  t.is(await collect(input.content()), '');
  t.is(String(await input.line()), 'NOOP');
  t.is(String(await input.line()), 'DATA');
  t.is(await collect(input.content()), '.a\r\nb\r\n');
  t.is(String(await input.line()), 'QUIT');
  t.false(input.hasUnread());
});

test('content that nobody reads is no command', async t => {
  const input = createSmtpInput(flow);
  input.push(Buffer.from('one\r\nMAIL FROM:<a@x.test>\r\n'));
  for await (const part of input.content()) {
    t.is(part.toString(), 'one\r\nMAIL FROM:<a@x.test>\r\n');
    break;
  }

  const line = input.line();
  input.push(Buffer.from('RCPT TO:<b@x.test>\r\n.\r'));
  input.push(Buffer.from('\nQUIT\r\n'));

  t.is(String(await line), 'QUIT');
});

test('content that nobody begins to read is no command either', async t => {
  const input = createSmtpInput(flow);
  input.push(Buffer.from('MAIL FROM:<a@x.test>\r\n.\r\nQUIT\r\nmore'));
  input.content();

  t.is(String(await input.line()), 'QUIT');
  input.content();
  const line = input.line();
  input.end();
  t.is(await line, undefined);
});

test('a client that is gone has no next line, and its content fails', async t => {
  const input = createSmtpInput(flow);
  const line = input.line();
  input.end();
  t.is(await line, undefined);

  const second = createSmtpInput(flow);
  second.push(Buffer.from('NOOP\r\n'));
  second.end();
  t.is(await second.line(), undefined);

  const third = createSmtpInput(flow);
  const content = collect(third.content());
  third.push(Buffer.from('half\r\n'));
  third.end();
  await t.throwsAsync(content, {message: 'the client is gone'});
});

test('a line is at most 4096 octets without its end, however it is cut and ended', async t => {
  const lineFrom = async (...chunks: string[]) => {
    const input = createSmtpInput(flow);
    for (const chunk of chunks) input.push(Buffer.from(chunk));
    return (await input.line())?.length;
  };
  const longest = 'x'.repeat(4096);

  for (const end of ['\r\n', '\n']) t.is(await lineFrom(`${longest}${end}`), 4096);
  t.is(await lineFrom(`${longest}\r`, '\n'), 4096);
  for (const chunks of [[`${longest}x\r\n`], [`${longest}x\n`], [`${longest}x`], [`${longest}x\r`], [longest, 'x']])
    await t.throwsAsync(lineFrom(...chunks), {instanceOf: LineTooLong});
});

test('a client that sends faster than it is read is paused, until somebody waits for more', async t => {
  const calls: string[] = [];
  const input = createSmtpInput({pause: () => void calls.push('pause'), resume: () => void calls.push('resume')});
  const iterator = input.content()[Symbol.asyncIterator]();

  for (let n = 0; n < 4; n += 1) input.push(Buffer.alloc(30_000, 'x'));
  t.deepEqual(calls, ['pause']);
  await iterator.next();
  t.deepEqual(calls, ['pause']);
  const next = iterator.next();
  await Promise.resolve();
  t.deepEqual(calls, ['pause', 'resume']);
  input.push(Buffer.from('y'));
  t.is(String((await next).value), 'y');
});
