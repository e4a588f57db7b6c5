import test from 'ava';
import {createClaimCheck, resultsField} from '../../../../daemon/mail/authentication/results-field.ts';
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

const isOurs = (host: string): boolean =>
  ['mx1.example.org', 'mx2.example.org', 'mx1.test', 'xn--mx-yka.test', 'gateway'].includes(host);
const hasClaim = (head: string): boolean => headersOf(head).some(createClaimCheck(isOurs));

test('a field claims to be ours where any reader could take its first words for the name of a node', t => {
  const raw = [
    'mx1.example.org; spf=pass',
    'MX2.Example.ORG;spf=pass',
    '\r\n\tmx1.example.org 1; spf=pass',
    '(a (nested \\) comment)) mx1.example.org; spf=pass',
    '(;) "mx1.example.org"; none',
    '"mx1\\.example.org" ; none',
    'mx1.example.org.; none',
    'mx1.example.org',
    'mx1.example.org(comment); none',
    'gateway; none',
    'mx1.example.org=1; none',
    'mx1.example.org,; none',
    'mx1.example.org/1; none',
    'mx1(x).test; none',
    'm(x)x1.test; none',
    'mx1.(c)example.org; none',
    'mx1(c) . \r\n example.org; none',
    'mx1.example.org(c)1; none',
    'mx1.(x)exam\x01ple.org=1; none',
    'mx1.example.org\xa0; none',
    'mx1\xa0.example.org; none',
    'mx1.exa\xadmple.org; none',
    'mx1.exa\x01mple.org; none',
    'mx1.example.org\x01\x02; none',
    'mx\xfc.test; none',
    '"mx1.example.org; none',
    '"mx1.example.org;x"; none',
    '(open mx1.example.org; none',
    '; mx1.example.org; none',
    'i=1; mx1.example.org; none',
    '<mx1.example.org>; none',
    'x mx1.example.org; none',
    'i=1 mx1.example.org; none',
    '=?utf-8?q?mx1=2Eexample.org?=; none',
    '=?utf-8?b?bXgxLmV4YW1wbGUub3Jn?=; none',
    '=?utf-8?q?mx1.example.org=3B?= none',
    `${'(x)'.repeat(30_000)}mx1.example.org; none`,
    `${' '.repeat(30_000)}mx1.example.org; none`,
    `${'x'.repeat(2000)} mx1.example.org; none`,
  ];
  const utf8 = [
    'mx\u00fc.test; none',
    'mx1.example.org\u00a0; none',
    'mx1\uff0eexample\u3002org; none',
    'mx1.ex\u200bample.org; x',
  ];
  for (const value of [...raw, ...utf8.map(text => Buffer.from(text).toString('latin1'))])
    for (const name of ['Authentication-Results', 'authentication-RESULTS'])
      t.true(createClaimCheck(isOurs)({name, value}), `${name}: ${value.slice(0, 100)}`);
});

test('other fields stay: of other hosts, about us, and of other kinds', t => {
  for (const value of [
    'mx.other.test; smtp.helo=mx1.example.org',
    'mx.other.test 1; dmarc=pass (mx1.example.org); x=mx1.test',
    'mx1.example.org.evil.test; none',
    'evil-mx1.example.org; none',
    'amx1.test; none',
    'example.org; none',
    '(mx1.example.org) x; none',
    '"xy;" ; mx1.example.org',
    '',
    '(',
    ';'.repeat(50),
  ])
    t.false(createClaimCheck(isOurs)({name: 'Authentication-Results', value}), value);
  t.false(hasClaim('ARC-Authentication-Results: i=1; mx1.example.org; spf=pass\r\n\r\n'));
  t.true(hasClaim('Subject: x\r\nAuthentication-Results : mx1.example.org; spf=pass\r\n\r\n'));
});

test('a field of any size is compared, and one that begins with more than any host writes goes', t => {
  for (const start of ['', '"', '('])
    for (const unit of ['"', '\\', '"\\', '\\x', '(', ')', '((x)', '""', '=?', '\0', '.', 'x'])
      t.true(createClaimCheck(isOurs)({name: 'Authentication-Results', value: start + unit.repeat(100_000)}), start + unit);
  t.false(createClaimCheck(isOurs)({name: 'Authentication-Results', value: ';'.repeat(1000)}));
  t.false(createClaimCheck(isOurs)({name: 'Authentication-Results', value: `mx.other.test;${'x'.repeat(100_000)}`}));
});

test('of thousands of fields only the first are read, and the others count as ours', t => {
  const field = (value: string) => ({name: 'Authentication-Results', value});
  const isClaim = createClaimCheck(isOurs);

  const honest = Array.from({length: 40}, () => isClaim(field('mx.other.test; spf=pass')));
  const long = Array.from({length: 250}, () => isClaim(field('\xef\xb7\xba '.repeat(240))));

  t.deepEqual(honest, Array(40).fill(false));
  t.deepEqual(long.slice(5), Array(245).fill(true));
  t.false(isClaim({name: 'X-Other', value: 'mx1.test'}));
});
