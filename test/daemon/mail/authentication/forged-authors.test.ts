// Forged authors: From decides whose policy a mail has to meet, and mail programs read it in many ways.
import test, {type ExecutionContext} from 'ava';
import {createDnsAnswers} from '../../../../daemon/mail/authentication/dns-answers.ts';
import {verifyMail} from '../../../../daemon/mail/authentication/verify-mail.ts';
import {scoreAuthentication} from '../../../../daemon/mail/scan/authentication-score.ts';
import {startDnsZone, type Zone} from '../../../helpers/dns-zone.ts';
import {readersInProcess} from '../../../helpers/readers.ts';
import {receivedMail, sample} from '../../../helpers/received-mail.ts';
import {unclearAuthors} from '../../../helpers/unclear-authors.ts';

const zone: Zone = {
  '_dmarc.bank.test': {TXT: ['v=DMARC1; p=reject']},
  'bank.test': {TXT: ['v=spf1 ip4:192.0.2.1 -all']},
  'evil.test': {TXT: ['v=spf1 +all']},
  'list.test': {TXT: ['v=spf1 ip4:192.0.2.5 -all']},
  '_dmarc.list.test': {TXT: ['v=DMARC1; p=reject']},
  '_dmarc.mail.test': {TXT: ['v=DMARC1; p=none']},
  '_dmarc.soft.test': {TXT: ['v=DMARC1; p=quarantine']},
};

const start = async (t: ExecutionContext) => {
  const {server} = await startDnsZone(t, zone);
  const common = {servers: [server], timeoutMs: 10_000, monotonic: () => performance.now()};
  const answers = createDnsAnswers({...common, onMute: () => {}, onBack: () => {}});
  return async (header: string, sender: string) => {
    const bytes = Buffer.from(`${header}\r\nSubject: test\r\n\r\nHello\r\n`);
    const mail = receivedMail({bytes, envelope: {sender}});
    const verified = await verifyMail(mail, {newLookup: answers.forMail, fqdn: 'mx.example.com', readers: readersInProcess});
    const [symbol] = scoreAuthentication(verified);
    const {result, policy} = verified.results.dmarc;
    return {symbol, result, policy, author: verified.dmarc.author, authorship: verified.authorship};
  };
};

const forged = [
  'a@x_y.bank.test',
  '<a@bank.test,>',
  '<a@bank\r\n .test>',
  '<a@bank . test>',
  '<a@bank(x).test>',
  '<a@evil.test>a@bank.test',
  '<a@evil.test> <a@bank.test>',
  'x <x@evil.test> CEO <ceo@bank.test>',
  'a@evil.test, a@bank.test',
  '<@evil.test:a@bank.test>',
  '"ceo@bank.test" <x@evil.test>',
  '=?utf-8?q?ceo=40bank.test?= <x@evil.test>',
  '"ceo\uff20bank\u3002test" <x@evil.test>',
  'x@evil.test (ceo@bank.test)',
  '"a@bank.test"@evil.test',
  'root@localhost, ceo@bank.test',
  'ceo@ba\u00adnk.test',
  `${Array.from({length: 9}, (_, n) => `a@d${n}.evil.test`).join(', ')}, a@bank.test`,
];

test('no way to write a forged author keeps it from the policy of its domain, whatever the sender may do', async t => {
  const verify = await start(t);

  for (const value of forged) {
    const {result, policy, symbol} = await verify(`From: ${value}`, 'x@evil.test');
    t.deepEqual({result, policy, symbol}, {result: 'fail', policy: 'reject', symbol: {name: 'DMARC_REJECT', score: 10}}, value);
  }
});

test('an author that mail programs read differently fails, counts as much as that policy, and is nobody', async t => {
  const verify = await start(t);

  for (const fields of unclearAuthors) {
    const found = await verify(fields.join('\r\n'), 'x@evil.test');
    t.like(
      found,
      {result: 'fail', symbol: {name: 'AUTHOR_UNCLEAR', score: 10}, author: undefined, authorship: 'unclear'},
      fields.join(),
    );
  }
});

test('an author under a line that is no field, where others end the header, is unclear', async t => {
  const verify = await start(t);
  const [sender, author] = ['Sender: CEO <ceo@bank.test>', 'From: x@evil.test'];

  for (const above of [
    [sender, 'stray'],
    ['stray', sender],
    ['From x@evil.test', sender, 'From x@evil.test'],
    ['>From', ' x', sender],
  ])
    t.like(await verify([...above, author].join('\r\n'), 'x@evil.test'), {
      authorship: 'unclear',
      symbol: {name: 'AUTHOR_UNCLEAR'},
    });
  for (const lines of [
    ['From x@evil.test Thu Nov 26', sender, author],
    ['>From x@evil.test', author],
    [sender, author, 'stray'],
  ])
    t.like(await verify(lines.join('\r\n'), 'x@evil.test'), {authorship: 'clear', symbol: undefined});
});

test('of several authors the strictest policy counts, wherever it stands', async t => {
  const verify = await start(t);

  t.like(await verify('From: a@evil.test, a@soft.test, a@bank.test', 'x@evil.test'), {policy: 'reject', authorship: 'several'});
  t.like(await verify('From: a@soft.test, a@evil.test', 'x@evil.test'), {policy: 'quarantine', authorship: 'several'});
  t.like(await verify('From: "a@soft.test" <a@list.test>', 'x@list.test'), {result: 'fail', policy: 'reject', author: undefined});
});

test('honest mail is verified as it was: lists, bounces, forms and old programs', async t => {
  const verify = await start(t);
  const passing = [
    'info@list.test <info@list.test>',
    'Support @ List <a@list.test>',
    '"anna@list.test via staff" <staff@list.test>',
    '=?utf-8?q?Zo=C3=AB_via_staff?= <staff@list.test>',
    'Anna (@anna.bakes) <a@list.test>',
    'a@list.test, b@list.test',
    'Mail Delivery System <MAILER-DAEMON@list.test>',
    'MAILER-DAEMON@list.test (Mail Delivery System)',
    '"Doe, John" <john@list.test>',
    'Doe, John <john@list.test>',
    'john@list.test (John (Joe) Doe)',
    '"info@list.test" <news@mail.list.test>',
  ];

  for (const value of passing) {
    const {result, symbol, author, authorship} = await verify(`From: ${value}`, 'bounce@list.test');
    t.deepEqual({result, symbol, authorship}, {result: 'pass', symbol: undefined, authorship: 'clear'}, value);
    t.regex(author ?? '', /list\.test$/);
  }
  for (const value of ['root@localhost', 'root@[192.0.2.1]', 'root (Cron Daemon)', 'MAILER-DAEMON', 'a@plain.test'])
    t.like(await verify(`From: ${value}`, 'x@evil.test'), {result: 'none', policy: null, authorship: 'clear'}, value);
});

test('no sample is unclear', async t => {
  const verify = await start(t);

  for (const name of ['plain.eml', 'eight-bit.eml', 'phishing.eml', 'from-upstream.eml', 'gtube.eml']) {
    const header = sample(name).toString('latin1').split('\r\n\r\n', 1).join();
    t.is((await verify(header, 'x@evil.test')).authorship, 'clear', name);
  }
});
