import test from 'ava';
import {authorsOf} from '../../../../daemon/mail/authentication/author-domains.ts';
import {headersOf} from '../../../helpers/received-mail.ts';

const authors = (...fields: string[]) => authorsOf(headersOf(`${fields.join('\r\n')}\r\n\r\n`));

test('one field with addresses of one domain has one author domain, in its canonical form', t => {
  for (const field of [
    'From: a@Bank.TEST',
    'from: "Bank, the; <x@evil.test>" <a@bank.test>',
    'From: =?utf-8?q?x=40evil.test?= <a@bank.test>',
    'From: a@bank.test, b@BANK.test',
    'From:\r\n a@bank.test\r\n (comment)',
    'From: team: a@bank.test;',
    'From: "a@evil.test"@bank.test',
  ])
    t.deepEqual(authors(field), {domains: ['bank.test'], isOne: true}, field);
  t.deepEqual(authors('From: a@b\u00fccher.test'), {domains: ['xn--bcher-kva.test'], isOne: true});
});

test('where programs may differ about the author there is not one', t => {
  for (const fields of [
    ['From: a@bank.test', 'From: a@bank.test'],
    ['From: a@bank.test, a@evil.test'],
    ['From: a@bank.test, nobody'],
    ['From: a@bank.test, <x@evil>'],
    ['From: '],
    ['From: nobody'],
    ['Subject: none'],
    [`From: a@bank.test,${' '.repeat(9000)}a@evil.test`],
  ])
    t.false(authors(...fields).isOne, fields.join());
  t.is(authors(`From: ${Array.from({length: 500}, (_, n) => `a@d${n}.test`).join(', ')}`).domains.length, 10);
});
