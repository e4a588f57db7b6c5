import test, {type ExecutionContext} from 'ava';
import fc from 'fast-check';
import {createTerminalKeys, longestPaste, type TerminalEvent} from '../../../../cli/dashboard/shell/terminal-keys.ts';
import {anyCharacter} from '../../../helpers/any-character.ts';
import {fakeInput} from '../../../helpers/dashboard/fake-input.ts';
import {type FakeClock, useFakeClock} from '../../../helpers/fake-clock.ts';

const start = '\x1b[200~';
const end = '\x1b[201~';

/** A terminal that is listened to. */
const listened = () => {
  const events: TerminalEvent[] = [];
  const {stream, give, isRaw} = fakeInput();
  const keys = createTerminalKeys(stream);
  const listen = () => keys.listen(event => void events.push(event));
  return {events, give, isRaw, listen, leave: listen()};
};

const readChunks = async (clock: FakeClock, chunks: readonly string[], pauseMs = 60_000): Promise<TerminalEvent[]> => {
  const {events, give} = listened();
  for (const chunk of chunks) give(chunk);
  await clock.advance(pauseMs);
  return events;
};

/** Typed and pasted input; keys of several reads as one text. */
const told = (events: readonly TerminalEvent[]): string[] => {
  const all: string[] = [];
  let typed: string[] = [];
  const flush = (): void => {
    if (typed.length > 0) all.push(`typed ${typed.join(' ')}`);
    typed = [];
  };
  for (const event of events) {
    if (event.kind === 'key') {
      typed.push(event.key);
      continue;
    }
    flush();
    all.push(`pasted ${event.paste.text}`);
  }
  flush();
  return all;
};

const reads = async (t: ExecutionContext, ...chunks: string[]): Promise<string[]> =>
  told(await readChunks(useFakeClock(t), chunks));

test.serial('a paste is one text between what was typed before and after it', async t => {
  t.deepEqual(await reads(t, `jj${start}Dy\nR${end}k`), ['typed j j', 'pasted Dy\nR', 'typed k']);
});

test.serial('a paste is the same however it is split over reads, also within its markers', async t => {
  const clock = useFakeClock(t);
  const stream = `j${start}\x1b[201 D\x1b[31my${end}k`;
  const whole = ['typed j', 'pasted \x1b[201 D\x1b[31my', 'typed k'];

  for (let at = 1; at < stream.length; at += 1)
    t.deepEqual(told(await readChunks(clock, [stream.slice(0, at), stream.slice(at)])), whole, `split at ${at}`);
  t.deepEqual(told(await readChunks(clock, [...stream])), whole);
});

/** Signs that a paste may lose: fields drop them anyway. */
const unsent = (text: string): string => text.replace(/[\x1b\x18]/g, '');

test.serial('no text that is pasted is ever a key, wherever a connection splits it', async t => {
  const clock = useFakeClock(t);
  const piece = fc.oneof(
    fc.string({unit: anyCharacter, maxLength: 20}),
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

      t.deepEqual(
        told(events)
          .map(unsent)
          .filter(event => event !== 'pasted '),
        unsent(text) === '' ? [] : [`pasted ${unsent(text)}`],
      );
    }),
    {numRuns: 300},
  );
});

test.serial('what stands behind an end marker that was hidden in a paste is a paste, too', async t => {
  t.deepEqual(await reads(t, `${start}a${end}Dy${end}j`), ['pasted a', 'pasted Dy', 'typed j']);
});

test.serial('a paste whose end never comes is over after two seconds without input, and is told to be incomplete', async t => {
  const clock = useFakeClock(t);
  const {events, give} = listened();

  give(`${start}a`);
  await clock.advance(1900);
  give('b\x1b[20');
  await clock.advance(1900);
  t.deepEqual(events, []);
  await clock.advance(200);
  give('j');

  t.deepEqual(events, [
    {kind: 'paste', paste: {text: 'ab\x1b[20', length: 6, isComplete: false}},
    {kind: 'key', key: 'j', isFirst: true},
  ]);
});

test.serial('ctrl+c within a paste is text, and pressed again and again it does not keep the paste open', async t => {
  const clock = useFakeClock(t);
  const {events, give} = listened();

  give(`${start}a`);
  for (let press = 0; press < 5; press += 1) {
    await clock.advance(500);
    give('\x03');
  }

  t.deepEqual(told(events), ['pasted a\x03\x03\x03', 'typed ctrl+c ctrl+c']);
});

test.serial('while nobody reads, a paste stays open, and what is sent meanwhile is read later', async t => {
  const clock = useFakeClock(t);
  const {events, give, isRaw, listen, leave} = listened();

  give(`${start}a`);
  await clock.advance(0);
  t.true(isRaw());
  leave();
  t.false(isRaw());
  await clock.advance(60_000);
  give('Dy');
  await clock.advance(60_000);
  t.deepEqual(events, []);
  listen();
  t.true(isRaw());
  give(`y${end}j`);
  await clock.advance(0);

  t.deepEqual(told(events), ['pasted aDyy', 'typed j']);
});

test.serial('of megabytes only the beginning is kept, and all of it is counted', async t => {
  const megabyte = 'x'.repeat(1_000_000);

  const [event, ...others] = await readChunks(useFakeClock(t), [start, ...Array(3).fill(megabyte), end]);

  t.true(event?.kind === 'paste' && event.paste.text.length === longestPaste && event.paste.length === 3_000_000);
  t.deepEqual(others, []);
});

test.serial('escape is a key of its own after a moment, and never a part of the next one', async t => {
  const clock = useFakeClock(t);

  t.deepEqual(told(await readChunks(clock, ['\x1b'])), ['typed escape']);
  t.deepEqual(told(await readChunks(clock, ['\x1b', 'j'])), ['typed escape j']);
  t.deepEqual(told(await readChunks(clock, ['j\x1b', '\x1b'])), ['typed j escape escape']);
  t.deepEqual(told(await readChunks(clock, ['\x1b', `${start}a${end}`])), ['typed escape', 'pasted a']);
});

test.serial('a paste is a paste after whatever key, also after the beginning of a sequence', async t => {
  const clock = useFakeClock(t);

  for (const before of ['\x1b', '\x1b\x1b', '\x1b\x1b\x1b', '\x1b[', '\x1bO', '\x1b[1;5', '\x1b[20', '\x1b[1;10D', '\x1b[24;80R'])
    for (const chunks of [[before, `${start}Dy${end}`], [`${before}${start}Dy${end}`], [...`${before}${start}Dy${end}`]]) {
      const events = await readChunks(clock, [...chunks, 'k']);

      t.deepEqual(
        events.filter(event => event.kind === 'paste' || event.key !== 'escape').map(event => told([event])[0]),
        ['pasted Dy', 'typed k'],
        JSON.stringify(chunks),
      );
    }
});

test.serial('a key that a connection has split is one key', async t => {
  const clock = useFakeClock(t);

  for (const key of ['\x1b[A', '\x1bOA', '\x1b[1;2A'])
    for (let at = 1; at < key.length; at += 1)
      t.deepEqual(told(await readChunks(clock, [key.slice(0, at), key.slice(at)])), ['typed up'], JSON.stringify([key, at]));
});

test.serial('only the first key of a read is first, and none that comes with a paste', async t => {
  const clock = useFakeClock(t);
  const firsts = async (...chunks: string[]) => {
    const events = await readChunks(clock, chunks);
    return events.flatMap(event => (event.kind === 'key' ? [`${event.key} ${event.isFirst}`] : []));
  };

  t.deepEqual(await firsts('Dyy', 'y'), ['D true', 'y false', 'y false', 'y true']);
  t.deepEqual(await firsts('\x1b[5yy'), ['y false']);
  t.deepEqual(await firsts('\x1bxy'), ['y false']);
  t.deepEqual(await firsts('D\x1b'), ['D true', 'escape false']);
  t.deepEqual(await firsts('\x1b'), ['escape true']);
  t.deepEqual(await firsts(`${start}a${end}y`), ['y false']);
  t.deepEqual(await firsts(`${start}a`, `${end}y`, 'y'), ['y false', 'y true']);
});

const keys: Record<string, string> = {
  up: '\x1b[A \x1bOA \x1b[1;5A \x1b\x1b[A',
  down: '\x1b[B \x1bOB',
  right: '\x1b[C \x1bOC',
  left: '\x1b[D \x1bOD \x1b[1;3D',
  home: '\x1b[H \x1bOH \x1b[1~ \x1b[7~',
  end: '\x1b[F \x1bOF \x1b[4~ \x1b[8~',
  pageup: '\x1b[5~',
  pagedown: '\x1b[6~',
  enter: '\r \n \x1b\r',
  tab: '\t',
  'shift+tab': '\x1b[Z',
  backspace: '\x7f \b \x1b[3~ \x1b\x7f',
  'ctrl+a': '\x01',
  'ctrl+c': '\x03 \x1b\x03',
  'ctrl+z': '\x1a',
  ü: 'ü',
  漢: '漢',
  '😀': '😀',
  ':': ': \x1b:',
};
for (const [name, sent] of Object.entries(keys))
  test.serial(`${name} is ${name}, whatever a terminal sends for it`, async t => {
    const clock = useFakeClock(t);

    for (const sequence of sent.split(' '))
      t.deepEqual(told(await readChunks(clock, [sequence])), [`typed ${name}`], JSON.stringify(sequence));
  });

test.serial('letters with alt, function keys and answers of the terminal are no keys', async t => {
  const clock = useFakeClock(t);
  const sent = '\x1bj \x1bD \x1b[1;10D \x1b[24;80R \x1b[?1;2c \x1bOP \x1b[15~ \x1b[2~ \x1b[99~ \x00 \x1c \x9b';

  for (const sequence of sent.split(' ')) t.deepEqual(told(await readChunks(clock, [sequence])), [], JSON.stringify(sequence));
});

test.serial('what arrives in one piece is as many keys as were pressed', async t => {
  t.deepEqual(await reads(t, 'jG :q\r\x1b[B\x03'), ['typed j G space : q enter down ctrl+c']);
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
    const [typed, ...others] = await reads(t, text);

    t.is(typed?.split(' ').length, 1 + text.replaceAll('\x1b[B', 'j').length);
    t.deepEqual(others, []);
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
  const {events, give} = listened();

  give(nobodyTypes['several lines']);
  await clock.advance(150);
  give('j');

  t.deepEqual(told(events), [`pasted ${nobodyTypes['several lines']}`, 'typed j']);
  t.true(events[0]?.kind === 'paste' && events[0].paste.isComplete);
});
