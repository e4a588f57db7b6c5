import test from 'ava';
import type {MilterReply} from '../../../../daemon/mail/milter/milter-codec.ts';
import {addScore, insertInFront, removeClaims} from '../../../../daemon/mail/milter/milter-mail.ts';
import {judgement} from '../../../helpers/gateway.ts';
import {headersOf} from '../../../helpers/received-mail.ts';

const values = (replies: MilterReply[]) =>
  replies.map(reply => ('value' in reply ? `${reply.name}: ${reply.value}` : reply.kind));

test('score and symbols are added, the strongest first', t => {
  const symbols = [
    {name: 'R_WHITE', score: -1},
    {name: 'BAYES_SPAM', score: 5.1},
    {name: 'URIBL', score: 6},
  ];

  t.deepEqual(values(addScore({...judgement('relay'), score: 8.5, symbols})), [
    'X-Spam-Score: 8.50',
    'X-Spam-Symbols: URIBL, BAYES_SPAM, R_WHITE',
  ]);
  t.deepEqual(values(addScore({...judgement('relay'), score: -0.004, symbols: []})), ['X-Spam-Score: 0.00']);
});

test('however many symbols matched, and whatever they are called, they are a field of short lines in ASCII', t => {
  const symbols = Array.from({length: 500}, (_, n) => ({name: `SYM\r\nX: ${n} ${'ü'.repeat(n)}`, score: n}));

  const [, field] = values(addScore({...judgement('relay'), symbols}));

  const lines = field?.split('\r\n') ?? [];
  t.true(lines.length > 1 && lines.length < 200);
  t.true(lines.every(line => line.length <= 79 && /^[\x20-\x7e\t]+$/.test(line)));
  t.true(lines.slice(1).every(line => line.startsWith('\t')));
});

const isNone = () => false;

test('what a mail claims of itself is removed, from the last to the first', t => {
  const headers = headersOf('X-Spam-Score: 1\r\nX-SPAM-SCORE: 2\r\nX-Spam-Symbols: A\r\nX-Spam-Flag: NO\r\nSubject: x\r\n\r\n');

  t.deepEqual(removeClaims(headers, isNone), [
    {kind: 'change-header', index: 1, name: 'X-Spam-Symbols', value: ''},
    {kind: 'change-header', index: 2, name: 'X-SPAM-SCORE', value: ''},
    {kind: 'change-header', index: 1, name: 'X-Spam-Score', value: ''},
  ]);
  t.deepEqual(removeClaims(headersOf('Subject: x\r\n\r\n'), isNone), []);
});

test('of results of authentication only those are removed that claim to be ours', t => {
  const headers = headersOf(
    ['theirs', 'ours', 'theirs', 'ours'].map((who, n) => `Authentication-Results: ${who}; n=${n}\r\n`).join(''),
  );

  const removed = removeClaims(headers, ({value}) => value.includes('ours'));

  t.deepEqual(
    removed.map(reply => 'index' in reply && reply.index),
    [4, 2],
  );
});

test('signatures go in front in their order', t => {
  const fields = Buffer.from('DKIM-Signature: v=1; s=one;\r\n b=abc\r\nDKIM-Signature: v=1; s=two; b=def\r\n');

  t.deepEqual(insertInFront(fields), [
    {kind: 'insert-header', index: 0, name: 'DKIM-Signature', value: 'v=1; s=two; b=def'},
    {kind: 'insert-header', index: 0, name: 'DKIM-Signature', value: 'v=1; s=one;\r\n b=abc'},
  ]);
  t.deepEqual(insertInFront(Buffer.alloc(0)), []);
});
