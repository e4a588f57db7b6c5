import test from 'ava';
import {parseReply, passedOn} from '../../../daemon/mail/smtp-reply.ts';

test('replies of one line, of several and without text are read', t => {
  t.deepEqual(parseReply('250 2.1.0 Ok'), {code: 250, text: '2.1.0 Ok'});
  t.deepEqual(parseReply('250-first\n250 last'), {code: 250, text: 'first last'});
  t.deepEqual(parseReply('550-5.7.1 one\n550 5.7.1 two'), {code: 550, text: '5.7.1 one two'});
  t.deepEqual(parseReply('354'), {code: 354, text: ''});
});

test('what is no reply is none', t => {
  for (const raw of ['', 'hello', '25', '2500 x', '999 x', '1xx', 'HTTP/1.1 200 OK']) t.is(parseReply(raw), undefined, raw);
});

test('a reply holds nothing but printable ASCII and fits on one line', t => {
  const reply = parseReply(`550 a\x00\x1b[31mb\u2028c\ud83d\ude00d ${'x'.repeat(2000)}`);

  t.regex(reply?.text ?? '', /^a \[31mb\?c\?d x+\.\.\.$/);
  t.true((reply?.text.length ?? 0) < 500);
});

test('a refusal is passed on with an enhanced code of its own kind, all else as a deferral', t => {
  t.deepEqual(passedOn({code: 550, text: '5.1.1 unknown'}), {code: 550, text: '5.1.1 unknown'});
  t.deepEqual(passedOn({code: 450, text: 'later'}), {code: 450, text: '4.0.0 later'});
  t.deepEqual(passedOn({code: 550, text: ''}), {code: 550, text: '5.0.0'});
  t.deepEqual(passedOn({code: 550, text: '4.2.1 confused'}), {code: 550, text: '5.0.0 4.2.1 confused'});
  t.is(passedOn({code: 354, text: 'what'}).code, 451);
  t.is(passedOn({code: 421, text: '4.3.2 closing'}).code, 451);
});
