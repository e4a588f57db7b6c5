import test, {type ExecutionContext} from 'ava';
import fc from 'fast-check';
import {createPasteReader, longestPaste, type TerminalEvent} from '../../../../cli/dashboard/shell/paste-reader.ts';
import {type FakeClock, useFakeClock} from '../../../helpers/fake-clock.ts';

const start = '\x1b[200~';
const end = '\x1b[201~';

const readChunks = async (clock: FakeClock, chunks: readonly string[], pauseMs = 60_000): Promise<TerminalEvent[]> => {
  const events: TerminalEvent[] = [];
  const reader = createPasteReader(event => void events.push(event));
  for (const chunk of chunks) reader.push(chunk);
  await clock.advance(pauseMs);
  return events;
};

/** Typed and pasted input; keys of several reads as one text. */
const told = (events: readonly TerminalEvent[]): string[] => {
  const all: string[] = [];
  let typed = '';
  const flush = (): void => {
    if (typed !== '') all.push(`typed ${typed}`);
    typed = '';
  };
  for (const event of events) {
    if (event.kind === 'keys') {
      typed += event.text;
      continue;
    }
    flush();
    all.push(event.kind === 'paste' ? `pasted ${event.paste.text}` : 'typed escape');
  }
  flush();
  return all;
};

const reads = async (t: ExecutionContext, ...chunks: string[]): Promise<string[]> =>
  told(await readChunks(useFakeClock(t), chunks));

test.serial('a paste is one text between what was typed before and after it', async t => {
  t.deepEqual(await reads(t, `jj${start}Dy\nR${end}k`), ['typed jj', 'pasted Dy\nR', 'typed k']);
});

test.serial('a paste is the same however it is split over reads, also within its markers', async t => {
  const clock = useFakeClock(t);
  const stream = `j${start}\x1b[201 D\x1b[31my${end}k`;
  const whole = ['typed j', 'pasted \x1b[201 D\x1b[31my', 'typed k'];

  for (let at = 1; at < stream.length; at += 1)
    t.deepEqual(told(await readChunks(clock, [stream.slice(0, at), stream.slice(at)])), whole, `split at ${at}`);
  t.deepEqual(told(await readChunks(clock, [...stream])), whole);
});

test.serial('no text that is pasted is ever a key, wherever a connection splits it', async t => {
  const clock = useFakeClock(t);
  const piece = fc.oneof(
    fc.string({unit: 'binary', maxLength: 20}),
    fc.constantFrom(
      '\x1b',
      '\x1b[',
      '\x1b[20',
      '\x1b[201',
      '\x1b[201;',
      '[201~',
      start,
      '\x03',
      'Dy',
      '\r',
      '\n',
      '\x9b201~',
      '\u0000',
    ),
  );
  // Markers that are taken out may leave another one behind, so such texts are not used at all.
  const pasted = fc
    .array(piece, {maxLength: 12})
    .map(pieces => pieces.join(''))
    .filter(text => !text.includes(end));

  await fc.assert(
    fc.asyncProperty(pasted, fc.array(fc.nat(200), {maxLength: 8}), async (text, cuts) => {
      const stream = start + text + end;
      const ends = [0, ...cuts.map(cut => cut % stream.length).sort((a, b) => a - b), stream.length];
      const chunks = ends.slice(1).map((to, at) => stream.slice(ends[at], to));

      const events = await readChunks(clock, chunks.filter(Boolean));

      t.deepEqual(told(events), text === '' ? [] : [`pasted ${text}`]);
    }),
    {numRuns: 300},
  );
});

test.serial('what stands behind an end marker that was hidden in a paste is a paste, too', async t => {
  t.deepEqual(await reads(t, `${start}a${end}Dy${end}j`), ['pasted a', 'pasted Dy', 'typed j']);
});

test.serial('a paste whose end never comes is over after two seconds without input, and is told to be incomplete', async t => {
  const clock = useFakeClock(t);
  const events: TerminalEvent[] = [];
  const reader = createPasteReader(event => void events.push(event));

  reader.push(`${start}a`);
  await clock.advance(1900);
  reader.push('b\x1b[20');
  await clock.advance(1900);
  t.deepEqual(events, []);
  await clock.advance(200);
  reader.push('j');

  t.deepEqual(events, [
    {kind: 'paste', paste: {text: 'ab\x1b[20', length: 6, isComplete: false}},
    {kind: 'keys', text: 'j'},
  ]);
});

test.serial('ctrl+c within a paste is text, and pressed again and again it does not keep the paste open', async t => {
  const clock = useFakeClock(t);
  const events: TerminalEvent[] = [];
  const reader = createPasteReader(event => void events.push(event));

  reader.push(`${start}a`);
  for (let press = 0; press < 5; press += 1) {
    await clock.advance(500);
    reader.push('\x03');
  }

  t.deepEqual(told(events), ['pasted a\x03\x03\x03', 'typed \x03\x03']);
});

test.serial('while nobody reads, a paste stays open', async t => {
  const clock = useFakeClock(t);
  const events: TerminalEvent[] = [];
  const reader = createPasteReader(event => void events.push(event));

  reader.push(`${start}a`);
  reader.pause();
  await clock.advance(60_000);
  reader.resume();
  reader.push(`Dy${end}`);

  t.deepEqual(told(events), ['pasted aDy']);
});

test.serial('of megabytes only the beginning is kept, and all of it is counted', async t => {
  const megabyte = 'x'.repeat(1_000_000);

  const [event, ...others] = await readChunks(useFakeClock(t), [start, ...Array(30).fill(megabyte), end]);

  t.true(event?.kind === 'paste' && event.paste.text.length === longestPaste && event.paste.length === 30_000_000);
  t.deepEqual(others, []);
});

test.serial('escape is a key of its own after a moment, and never a part of the next one', async t => {
  const clock = useFakeClock(t);

  t.deepEqual(told(await readChunks(clock, ['\x1b'])), ['typed escape']);
  t.deepEqual(told(await readChunks(clock, ['\x1b', 'j'])), ['typed escape', 'typed j']);
  t.deepEqual(told(await readChunks(clock, ['j\x1b', '\x1b'])), ['typed j', 'typed escape', 'typed escape']);
  t.deepEqual(told(await readChunks(clock, ['\x1b', `${start}a${end}`])), ['typed escape', 'pasted a']);
});

test.serial('a key that a connection has split is passed on whole', async t => {
  const clock = useFakeClock(t);

  for (const key of ['\x1b[A', '\x1bOP', '\x1b[2~', '\x1b[20~'])
    for (let at = 1; at < key.length; at += 1) {
      const events = await readChunks(clock, [key.slice(0, at), key.slice(at)]);
      t.is(events.map(event => (event.kind === 'keys' ? event.text : event.kind)).join(''), key);
    }
});

const many = (text: string, count: number): string => text.repeat(count);
const typedInOnePiece = {
  'keys that repeat': many('j', 2000),
  'arrows that repeat': many('\x1b[B', 1000),
  'a command': ':context other\r',
  'a command and what follows it': ':q\rjj',
  'a form': '\tnowhere.example\t\t90d\r',
  'a long line': `:${many('quarantine ', 30)}`,
};
for (const [name, text] of Object.entries(typedInOnePiece))
  test.serial(`without markers, ${name} in one read is keys`, async t => {
    t.deepEqual(await reads(t, text), [`typed ${text}`]);
  });

const nobodyTypes = {
  'several lines': 'mx1.example.com:25\rmx2.example.com:25\r',
  'several lines with line feeds': 'Dy and some more text\nDy',
  'a very long line': many('Dy', 300),
};
for (const [name, text] of Object.entries(nobodyTypes))
  test.serial(`without markers, ${name} in one read is a paste, with what follows at once`, async t => {
    t.deepEqual(await reads(t, text, 'Dy'), [`pasted ${text}Dy`]);
  });

test.serial('without markers, a paste is over after a tenth of a second', async t => {
  const clock = useFakeClock(t);
  const events: TerminalEvent[] = [];
  const reader = createPasteReader(event => void events.push(event));

  reader.push(nobodyTypes['several lines']);
  await clock.advance(150);
  reader.push('j');

  t.deepEqual(told(events), [`pasted ${nobodyTypes['several lines']}`, 'typed j']);
  t.true(events[0]?.kind === 'paste' && events[0].paste.isComplete);
});
