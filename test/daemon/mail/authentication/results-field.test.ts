import test from 'ava';
import {claimsToBeOurs, resultsField} from '../../../../daemon/mail/authentication/results-field.ts';
import type {MailAuthentication} from '../../../../shared/mail-authentication.ts';
import {headersOf, receivedMail} from '../../../helpers/received-mail.ts';

const results: MailAuthentication = {
  spf: {result: 'pass', domain: 'example.net'},
  dkim: [],
  dmarc: {result: 'none', policy: null, domain: 'example.net'},
  arc: {result: 'none'},
};

const textOf = (given: Partial<MailAuthentication>, sender = 'a@example.net'): string =>
  resultsField({...results, ...given}, receivedMail({envelope: {sender}}), 'mx.example.org')
    .toString('latin1')
    .replaceAll('\r\n\t', ' ');

test('the field names the host, and each result with what it is about', t => {
  t.is(
    textOf({}),
    'Authentication-Results: mx.example.org; spf=pass smtp.mailfrom=example.net; dkim=none; dmarc=none header.from=example.net\r\n',
  );
  t.is(
    textOf(
      {
        spf: {result: 'temperror', domain: 'mail.example.net'},
        dkim: [
          {result: 'pass', domain: 'example.net', selector: 's1'},
          {result: 'policy', domain: 'example.com', selector: 's2'},
        ],
        dmarc: {result: 'fail', policy: 'reject', domain: 'example.org'},
        arc: {result: 'fail'},
      },
      '',
    ),
    'Authentication-Results: mx.example.org; spf=temperror smtp.helo=mail.example.net; dkim=pass header.d=example.net header.s=s1; dkim=policy header.d=example.com header.s=s2; dmarc=fail (p=reject) header.from=example.org; arc=fail\r\n',
  );
});

test('no text of a mail leaves its place in the field', t => {
  const selector = 'x; dmarc=pass\r\nSubject: forged';

  const text = textOf({dkim: [{result: 'fail', domain: 'example.net', selector}], dmarc: {...results.dmarc, domain: ''}});

  t.false(text.includes('dmarc=pass'));
  t.is(text.split('\r\n').length, 2);
  t.regex(text, /dkim=fail header\.d=example\.net; dmarc=none\r\n$/);
});

const isOurs = (host: string): boolean => ['mx1.example.org', 'mx2.example.org'].includes(host);
const hasClaim = (head: string): boolean => headersOf(head).some(field => claimsToBeOurs(field, isOurs));

test('a field that begins with the name of a node claims to be ours, however the name is written', t => {
  for (const value of [
    'mx1.example.org; spf=pass',
    'MX2.Example.ORG;spf=pass',
    '\r\n\tmx1.example.org 1; spf=pass',
    '(a (nested \\) comment)) mx1.example.org; spf=pass',
    '(;) "mx1.example.org"; none',
    '"mx1\\.example.org" ; none',
    'mx1.example.org.; none',
    'mx1.example.org',
    'mx1.example.org(comment); none',
  ])
    for (const name of ['Authentication-Results', 'authentication-RESULTS'])
      t.true(claimsToBeOurs({name, value}, isOurs), `${name}: ${value}`);
});

test('other fields stay: of other hosts, about us, and of other kinds', t => {
  for (const value of [
    'mx.other.test; smtp.helo=mx1.example.org',
    'mx1.example.org.evil.test; none',
    '(mx1.example.org) x; none',
    '',
    '(',
  ])
    t.false(claimsToBeOurs({name: 'Authentication-Results', value}, isOurs), value);
  t.false(hasClaim('ARC-Authentication-Results: i=1; mx1.example.org; spf=pass\r\n\r\n'));
  t.true(hasClaim('Subject: x\r\nAuthentication-Results : mx1.example.org; spf=pass\r\n\r\n'));
});
