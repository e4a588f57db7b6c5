import test from 'ava';
import fc from 'fast-check';
import {mailsIn} from '../../../../daemon/hold/postfix/postfix-body.ts';
import {anyCharacter} from '../../../helpers/any-character.ts';

/** The output of Postfix 3.7 for one mail. */
const said = (id: string, {header = 'Subject: hello\n', client = '192.0.2.1', helo = 'client.test', queue = 'hold'} = {}) =>
  `*** ENVELOPE RECORDS ${queue}/${id} ***
message_size:             370             669               1               0             370               0
message_arrival_time: Sun Nov 22 00:50:19 2026
sender: a@example.net
named_attribute: client_name=unknown
named_attribute: client_address=${client}
named_attribute: helo_name=${helo}
original_recipient: b@example.com
recipient: b@example.com
*** MESSAGE CONTENTS ${queue}/${id} ***
${header}*** HEADER EXTRACTED ${queue}/${id} ***
*** MESSAGE FILE END ${queue}/${id} ***
`;

test('subject, client and greeting are read of each of several mails', t => {
  const both =
    said('4jX9Tl6KhjzJ9s1') +
    said('4jX9Tp5H0TzJ9s1', {header: 'X: y\nFrom: CEO\n <Ceo@Bank.test>\nSUBJECT: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n  folded\n'});

  t.deepEqual(mailsIn(both), [
    {queueId: '4jX9Tl6KhjzJ9s1', from: [], subject: 'hello', clientIp: '192.0.2.1', helo: 'client.test'},
    {queueId: '4jX9Tp5H0TzJ9s1', from: ['ceo@bank.test'], subject: 'Grüße  folded', clientIp: '192.0.2.1', helo: 'client.test'},
  ]);
});

test('the file of a mail may be anywhere', t => {
  for (const queue of ['/var/spool/postfix/hold', 'hold/8/D', '/srv/a queue/hold'])
    t.deepEqual(
      mailsIn(said('4jX9Tl6KhjzJ9s1', {queue})).map(({queueId, subject}) => `${queueId} ${subject}`),
      ['4jX9Tl6KhjzJ9s1 hello'],
      queue,
    );
});

test('a mail without header, subject or known client has none', t => {
  t.deepEqual(mailsIn(said('ABCDEF', {header: '', client: 'unknown', helo: ''})), [
    {queueId: 'ABCDEF', from: [], subject: '', clientIp: '', helo: ''},
  ]);
});

test('what breaks off within a mail gives the mails before it', t => {
  const whole = said('ABCDEF');
  const cut = said('GHIJKL');

  for (let at = 0; at < cut.indexOf('*** HEADER EXTRACTED'); at += 7)
    t.deepEqual(
      mailsIn(whole + cut.slice(0, at)).map(({queueId}) => queueId),
      ['ABCDEF'],
    );
});

test('whatever a subject holds, mails keep their own', t => {
  // A header field may contain anything except a line end (LF in Postfix) that is not followed by a blank.
  const value = fc
    .string({unit: anyCharacter, maxLength: 60})
    .map(text => Buffer.from(text.replace(/\n/g, '\n ')).toString('latin1'));
  const forged = fc.constantFrom(
    '\n *** ENVELOPE RECORDS hold/GHIJKL ***\n *** MESSAGE CONTENTS hold/GHIJKL ***',
    '\n\t*** HEADER EXTRACTED hold/ABCDEF ***',
    '\n named_attribute: client_address=198.51.100.9',
    '\r*** ENVELOPE RECORDS hold/GHIJKL ***\r*** MESSAGE CONTENTS hold/GHIJKL ***\r*** HEADER EXTRACTED hold/GHIJKL ***\r',
    '\r*** HEADER EXTRACTED hold/ABCDEF ***\r',
  );

  fc.assert(
    fc.property(fc.oneof(value, forged), fc.oneof(value, forged), (one, other) => {
      const mails = mailsIn(
        said('ABCDEF', {header: `Subject: ${one}\n`}) + said('GHIJKL', {header: `X: ${other}\nSubject: mine\n`}),
      );
      return (
        mails.length === 2 &&
        mails[0]?.queueId === 'ABCDEF' &&
        mails[1]?.subject === 'mine' &&
        mails.every(({clientIp}) => clientIp === '192.0.2.1')
      );
    }),
    {numRuns: 2000},
  );
  t.pass();
});
