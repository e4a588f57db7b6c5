import test from 'ava';
import fc from 'fast-check';
import {authorsOf} from '../../../../daemon/mail/authentication/author-domains.ts';
import {headersOf} from '../../../helpers/received-mail.ts';
import {unclearAuthors} from '../../../helpers/unclear-authors.ts';

const authors = (...fields: string[]) => authorsOf(headersOf(Buffer.from(`${fields.join('\r\n')}\r\n\r\n`)));
const authorsIn = (value: string) => authors(`From: ${value}`);

const clear = (domain: string | undefined, domains = domain === undefined ? [] : [domain]) => ({
  domains,
  domain,
  isUnclear: false,
});

test('honest fields, and malformed ones that all programs read alike, have one author domain in its canonical form', t => {
  for (const field of [
    'From: a@Bank.TEST',
    'from : "Bank, the; <x>" <a@bank.test>',
    'FROM:\r\n a@bank.test\r\n (comment (inner) \\( "open)',
    'From: a@bank.test, b@BANK.test',
    'From: a@bank.test b@bank.test',
    'From: A <a@bank.test> B <b@bank.test>',
    'From: <a@bank.test>; Doe, John <b@bank.test>,',
    'From: a@bank.test <a@bank.test>',
    'From: "\'a@bank.test\'" <a@bank.test>',
    'From: Support @ Bank <a@bank.test>',
    'From: Support @ Bank, Inc. <a@bank.test>',
    'From: =?utf-8?q?Caf=C3=A9?= =?utf-8?q?_@_5.30pm?= <a@bank.test>',
    'From: I <3 you <a@bank.test>',
    'From: Bob -> Bank [sales] <a@bank.test>',
    'From: "a@bank.test via list" <list@bank.test>',
    'From: team: a@bank.test;',
    'From: a@bank.test.',
    'From: a@bank.test (=?utf-8?q?Caf=C3=A9?=)',
    'From: <mailto:a@bank.test>',
    'From: /G=Bob/S=Smith/ <John Doe@bank.test>',
    'From: "odd, \\"user\\": x"@bank.test',
    'From: a%evil.test@bank.test',
    'From: <a@bank.test,>',
    'From: <a@bank.test> Bob',
    'From: <a@bank.test>(Bob)',
    'From: Bank <a@bank.test',
    'From: <<a@bank.test>>',
    'From: <a@bank\r\n .test>',
    'From: a @ bank . test',
    'From: <a@bank\u00a0.test>',
    'From: <a@bank(x).test>',
    'From: ceo\uff20bank\u3002test',
    'From: <ceo@ba\u00adnk\uff0ete\u200bst>',
  ])
    t.deepEqual(authors(field), clear('bank.test'), field);
  t.deepEqual(authorsIn('a@b\u00fccher.test, a@xn--bcher-kva.test'), clear('xn--bcher-kva.test'));
  t.deepEqual(authorsIn('a@x_y.bank.test'), clear('x_y.bank.test'));
});

test('one label, an address literal or a local user has no policy', t => {
  for (const value of [
    'root@localhost',
    'Cron <root@localhost.>, <a@host_1>',
    'root@[192.0.2.1]',
    '<root@[IPv6:2001:db8::1]>',
    'root@192.0.2.1',
    'root (Cron Daemon)',
    '"(Cron Daemon)" <root>',
    'MAILER-DAEMON',
    'a@b\u00fccher',
  ])
    t.deepEqual(authorsIn(value), clear(undefined), value);
});

test('each domain that a reader may see counts: of addresses, and behind an @ in the text beside them', t => {
  const both = ['evil.test', 'bank.test'];
  for (const value of [
    'a@evil.test, a@bank.test',
    'a@evil.test a@bank.test',
    'x <x@evil.test> CEO <ceo@bank.test>',
    '<a@evil.test;b@bank.test>',
    '<@evil.test:a@bank.test>',
    '<a@evil.test<a@bank.test>>',
  ])
    t.deepEqual(authorsIn(value), clear(undefined, both), value);
  for (const value of [
    '<a@evil.test>a@bank.test',
    '"a@bank.test"@evil.test',
    '"ceo@bank.test" <a@evil.test>',
    '=?utf-8?q?ceo=40bank=2Etest?= <a@evil.test>',
    '"=?utf-8?b?Y2VvQGJh?= =?utf-8?b?bmsudGVzdA==?=" <a@evil.test>',
    '=?utf-8?q?ceo=40bank.test?=, =?utf-8?q?x?= <a@evil.test>',
    'ceo @ bank.test <a@evil.test>',
    'ceo@"bank.test" <a@evil.test>',
    '"ceo@bank.test"1 <a@evil.test>',
    '=?utf-8?q?ceo=40bank.test?= =?utf-8?q?1?= <a@evil.test>',
    'ceo@<a@evil.test> bank.test',
    '"ceo\uff20ba\u200bnk\u3002test" <a@evil.test>',
    '"ceo@bank.test-Support" <a@evil.test>',
    'a@evil.test (ceo@bank.test)',
    '(a (b) <ceo@bank.test>) a@evil.test',
  ])
    t.deepEqual(authorsIn(value), clear('evil.test', both), value);
  const latin1 = Buffer.from('From: "ceo@ba\xadnk.test" <a@evil.test>\r\n\r\n', 'latin1');
  t.deepEqual(authorsOf(headersOf(latin1)), clear('evil.test', both));
  t.deepEqual(authorsIn('root@localhost, a@bank.test'), clear(undefined, ['bank.test']));
  t.deepEqual(authorsIn('"ceo@bank.test" <root@localhost>'), clear(undefined, ['bank.test']));
  t.deepEqual(authorsIn('a@bank.test . evil').domains, ['bank.test.evil', 'bank.test']);
});

test('what mail programs read differently is unclear, and the domains in it are known as far as they can be read', t => {
  for (const fields of unclearAuthors) t.true(authors(...fields).isUnclear, fields.join());
  t.deepEqual(authorsIn('"Bank <a@bank.test>').domains, ['bank.test']);
  t.deepEqual(authors('From: a@evil.test', 'From: a@bank.test').domains, ['evil.test', 'bank.test']);
  t.is(authorsIn(Array.from({length: 500}, (_, n) => `a@d${n}.test`).join(', ')).domains.length, 10);
});

test('ten domains are looked up, the eleventh makes the author unclear', t => {
  const of = (count: number) => authorsIn(Array.from({length: count}, (_, n) => `a@d${n}.test`).join());

  t.false(of(10).isUnclear);
  t.is(of(10).domains.length, 10);
  t.true(of(11).isUnclear);
});

test('no field of any bytes makes an author of a domain that does not stand in it, or more than ten', t => {
  const pieces = [
    '<',
    '>',
    '(',
    ')',
    '"',
    '\\',
    ',',
    ';',
    ':',
    '@',
    '.',
    ' ',
    '\t',
    '\r\n ',
    '[',
    ']',
    '=?utf-8?q?',
    '=40',
    '?=',
    '\xa0',
  ];
  const field = fc
    .array(fc.constantFrom(...pieces, 'a', 'bank.test', 'evil.test', 'x_y', '\xc3\xbc', '\xef\xbc\xa0', '\0'), {maxLength: 40})
    .map(parts => parts.join(''));
  fc.assert(
    fc.property(field, value => {
      const {domain, domains, isUnclear} = authorsOf([{name: 'From', value}]);
      t.true(domains.length <= 10);
      t.true(domain === undefined || domain === domains[0]);
      // Nothing is lost silently: where the victim is after an @, it is found, or the field is unclear.
      if (/@bank\.test(?![\w.\x80-\xff-])/.test(value))
        t.true(isUnclear || domains.some(one => one.endsWith('bank.test')), JSON.stringify(value));
    }),
    {numRuns: 5000},
  );
});
