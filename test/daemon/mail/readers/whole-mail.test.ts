import {Readable} from 'node:stream';
import test from 'ava';
import {wholeMail} from '../../../../daemon/mail/readers/whole-mail.ts';

const piecesOf = async (mail: Buffer): Promise<Buffer[]> => {
  const input = wholeMail(mail);
  return Buffer.isBuffer(input) ? [input] : Readable.prototype.toArray.call(input);
};

test('mailauth gets a mail of any size in one piece', async t => {
  const header = 'From: a@bank.test\r\n\r\n';
  for (const bodyBytes of [0, 10, 65_536, 3_000_000]) {
    const mail = Buffer.from(header + 'x'.repeat(bodyBytes));
    // It cuts larger buffers itself, and streams never.
    t.is(Buffer.isBuffer(wholeMail(mail)), mail.length <= 65_536);
    const pieces = await piecesOf(mail);
    t.is(pieces.length, 1);
    t.true(pieces[0]?.equals(mail));
  }
});

test('a mail that ends within its header has an empty body', async t => {
  const [header, end] = ['From: a@bank.test', '\r\n'];
  for (const text of [header, `${header}${end}`, `${header}${end}${end}`])
    t.is((await piecesOf(Buffer.from(text))).join(''), `${header}${end}${end}`);
  t.is((await piecesOf(Buffer.from(`${end}body`))).join(''), `${end}body`);
});
