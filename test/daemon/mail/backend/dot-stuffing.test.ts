import {buffer} from 'node:stream/consumers';
import test from 'ava';
import {DotStuffing} from '../../../../daemon/mail/backend/dot-stuffing.ts';

const sent = async (...chunks: string[]): Promise<string> => {
  const stuffing = new DotStuffing();
  for (const chunk of chunks) stuffing.write(Buffer.from(chunk, 'latin1'));
  stuffing.end();
  return (await buffer(stuffing)).toString('latin1');
};

/** The same, of a text as a whole. */
const expected = (text: string): string => {
  const lines = text.replace(/\r\n|\r|\n/g, '\r\n').replace(/(^|\r\n)\./g, '$1..');
  return `${lines}${lines.endsWith('\r\n') || lines === '' ? '' : '\r\n'}.\r\n`;
};

test('a dot at the start of a line is doubled, and the end is a line of one dot', async t => {
  t.is(await sent('.a\r\nb.\r\n..\r\n'), '..a\r\nb.\r\n...\r\n.\r\n');
  t.is(await sent('a'), 'a\r\n.\r\n');
  t.is(await sent(), '.\r\n');
});

test('no bare CR or LF is left, and no dot after one ends the mail', async t => {
  t.is(await sent('a\r.\rb\n.\nc'), 'a\r\n..\r\nb\r\n..\r\nc\r\n.\r\n');
  t.is(await sent('a\n\r.\r\nb\r'), 'a\r\n\r\n..\r\nb\r\n.\r\n');
});

test('all texts of a few line ends, dots and letters are sent right, cut anywhere', async t => {
  const parts = ['\r', '\n', '.', 'a'];
  for (let no = 0; no < parts.length ** 6; no += 1) {
    const text = Array.from({length: 6}, (_, at) => parts[Math.floor(no / parts.length ** at) % parts.length]).join('');
    const cut = no % 7;
    const chunks = [text.slice(0, cut), text.slice(cut)];
    if ((await sent(...chunks)) !== expected(text)) return t.fail(JSON.stringify(chunks));
  }
  t.pass();
});
