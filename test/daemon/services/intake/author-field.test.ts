import test from 'ava';
import fc from 'fast-check';
import {authorAddresses, readAuthorField} from '../../../../daemon/services/intake/author-field.ts';
import {canonicalMailDomain} from '../../../../shared/domain-name.ts';
import {comparableAddress} from '../../../../shared/mail-address.ts';
import {headersOf} from '../../../helpers/received-mail.ts';

const addressesIn = (value: string) =>
  readAuthorField(value).addresses.map(({local, domain}) => (domain === undefined ? local : `${local}@${domain}`));

test('addresses are those in their places, and not those in names and comments', t => {
  t.deepEqual(addressesIn('"x <b@example.org>" <ada@example.net>, c@example.org (d@example.org)'), [
    'ada@example.net',
    'c@example.org',
  ]);
  t.deepEqual(addressesIn('=?utf-8?q?ada=40example.net=2C?= <b@example.org>'), ['b@example.org']);
  t.deepEqual(addressesIn('team: a @ b . test, <c@[IPv6:2001:db8::1]>;'), ['c@[IPv6:2001:db8::1]']);
  t.deepEqual(addressesIn('team: a @ b . test, c@d.test;'), ['a@b.test', 'c@d.test']);
  t.deepEqual(addressesIn('Support @ Acme, b@c.test <a@acme.test>'), ['a@acme.test']);
  t.deepEqual(addressesIn('Cron <root>'), ['root']);
});

test('a plain field says the same as with a blank behind it, where it is read as a whole', t => {
  const names = ['', 'Ada', 'a=b+"c" <>', '"a', 'Ada ', 'Ada  King. ', '"Ada" ', '"A. L-K" ', ' ', '"" ', '- ', 'a.b '];
  const locals = ['ada', 'a.b', '.a..b.', 'a+b=c', '-', '_', 'A'];
  const domains = [
    'b.test',
    'B.Test',
    'x.y.z.example',
    '-.-.aa',
    '1.2.com',
    'a_b.test',
    'b.xn--p1ai',
    'b.t3',
    'b',
    'b.test.',
    'a.b.c.d.e.f.test',
  ];
  const fields = locals.flatMap(local => domains.map(domain => `${local}@${domain}`));
  const all = [...fields, ...names.flatMap(name => fields.map(field => `${name}<${field}>`))];

  for (const field of [...all, ...all.map(one => ` ${one}`)])
    t.deepEqual(readAuthorField(field), readAuthorField(`${field} `), field);
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...'aB1@.-_+=" <>', 'x@y.zz'), {maxLength: 24}), parts => {
      const field = parts.join('');
      t.deepEqual(readAuthorField(field), readAuthorField(`${field} `), field);
    }),
    {numRuns: 3000},
  );
});

test('a quoted local part is the local part, with its quotation marks where it needs them', t => {
  for (const [field, addresses] of [
    ['"A b"@b.test', ['"A b"@b.test']],
    ['Ada <"A b"@b.test>', ['"A b"@b.test']],
    ['"Ada L." <"J. (x) Doe" @ b . test>', ['"J. (x) Doe"@b.test']],
    ['"a \\"b\\" \\\\ c"@b.test', ['"a \\"b\\" \\\\ c"@b.test']],
    ['"ceo@bank.test"@evil.test', ['"ceo@bank.test"@evil.test']],
    ['"ceo@bank.test x"@evil.test', ['ceo@bank.test', 'x@evil.test']],
    ['"ceo@bank. test x"@evil.test', ['ceo@bank.test', 'x@evil.test']],
    ['"A b".c@b.test, d."E f"@b.test', ['"A b.c"@b.test', '"d.E f"@b.test']],
    ['"ab"@b.test', ['ab@b.test']],
    ['"7" "8"@b.test', ['8@b.test']],
    ['"A" x "."@b.test', ['.@b.test']],
    ['"A b"\xef\xbc\xa0b.test', ['"A b"@b.test']],
  ] as const)
    t.deepEqual(addressesIn(field), addresses, field);
  t.false(readAuthorField('"A b"@b.test').isUnclear);
  t.deepEqual(authorAddresses([{name: 'From', value: 'a@"bank".test'}]), ['a@bank.test']);
  t.deepEqual(authorAddresses([{name: 'From', value: '"A b"@B.test'}]), ['"a b"@b.test']);
});

test('an address of which a part is in a quoted string is read as it stands, where no address ends behind it', t => {
  t.deepEqual(addressesIn('"ceo@bank.test".x, a@evil.test'), ['ceo@bank.test\x02.x', 'a@evil.test']);
  t.deepEqual(addressesIn('"ceo@bank.test".x a@evil.test'), ['ceo@bank.test\x02.x', 'a@evil.test']);
});

test('a quoted string that hides an address makes the author unclear', t => {
  for (const field of [
    'ceo@"bank x"@evil.test',
    'ceo@bank."test x"@evil.test',
    '"ceo@bank.test"."x y"@evil.test',
    'a@evil.test "x y"@evil.test',
  ])
    t.true(readAuthorField(field).isUnclear, field);
  for (const field of ['"ceo@bank.test"@evil.test', '"x y"."z z"@evil.test', '"A b"@evil.test, "C d"@evil.test'])
    t.false(readAuthorField(field).isUnclear, field);
});

test('no text in a field stands for a quoted string of it', t => {
  const long = 'x'.repeat(2900);

  t.deepEqual(addressesIn('"A b".c"0"d@e.test'), ['"A b.c0d"@e.test']);
  t.deepEqual(addressesIn('"bank.test".a@\x030\x03'), ['bank.test.a@\x010\x01']);
  t.deepEqual(addressesIn(`"${long}".a${'"0"x'.repeat(1200)}@c.test`), [`${long}.a${'0x'.repeat(1200)}@c.test`]);
});

test('a field of any size is read up to its bound, however it is made, and is unclear beyond it', t => {
  const units = [
    '=?',
    '(',
    ')',
    '"',
    ',',
    ';',
    '<',
    '>',
    '[',
    '\\',
    '@',
    '.',
    ' ',
    '\r\n ',
    '\0',
    '\xff',
    '\xcc\x80\xcc\xa3',
    '\xe2\x80\x8b',
  ];
  const words = [
    'a@b.c,',
    '<a@b.test',
    '@a.b ',
    '=?utf-8?q?=40?= ',
    '=?utf-8?b?QEA=?=',
    '=?utf-8?Q?= ',
    '\\"',
    '"x "@',
    '"x ".',
    '(\\',
    '[1',
    '@x--',
    '\xc3\xbc@\xc3\xbc.\xc3\xbc,',
  ];
  for (const unit of [...units, ...words]) {
    const field = unit.repeat(Math.ceil((256 * 1024) / unit.length));

    const {isUnclear, addresses, mentions} = readAuthorField(`${field} <ceo@bank.test>`);

    t.true(isUnclear, unit);
    t.true(addresses.length + mentions.length < 5000, unit);
    t.notRegex([...mentions, ...addresses.map(({domain}) => domain)].join(), /bank\.test/, unit);
  }
});

test('what is decoded is bounded: words far behind the beginning are not read', t => {
  const name = '=?utf-8?q?x?= '.repeat(700);

  t.deepEqual(readAuthorField(`${name}=?utf-8?q?ceo=40bank.test?= <a@evil.test>`).mentions, []);
});

test('addresses to search for are in one form, each once, and never those of names', t => {
  const authorsIn = (block: string) => authorAddresses(headersOf(`${block}\r\n\r\n`));

  t.deepEqual(authorsIn('From: "ceo@bank.test" <Info@Evil.Test>, INFO@evil.test, b@b\u00fccher.test'), [
    'info@evil.test',
    'b@xn--bcher-kva.test',
  ]);
  t.deepEqual(authorsIn('From: a@one.test\r\nSubject: x\r\nFrom: b@two.test'), ['a@one.test', 'b@two.test']);
  t.deepEqual(authorsIn('From: Cron <Root>'), ['root']);
  t.deepEqual(authorsIn('From: a\0b@x.test'), ['ab@x.test']);
  for (const none of ['Subject: x', 'From:', 'From: undisclosed-recipients:;', 'From: =?utf-8?q?ceo=40bank.test?='])
    t.deepEqual(authorsIn(none), [], none);
});

test('the addresses to search for are those of the whole reader, in plain fields too', t => {
  const textOf = (characters: string, maxLength: number) =>
    fc.array(fc.constantFrom(...characters), {minLength: 1, maxLength}).map(parts => parts.join(''));
  const name = fc.oneof(fc.constant(''), textOf('a@,', 5), textOf('a@"\\ ,:(<>', 6));
  const plain = fc.tuple(name, fc.constantFrom('<', ''), textOf('aB+="', 3), textOf('aB.-', 3), fc.constantFrom('', '>', '> '));
  const field = fc.oneof(
    textOf('ab.@<>"\\ ,:;()[]=?_-\uff20\u00fc', 30),
    plain.map(([before, open, local, domain, end]) => `${before}${open}${local}@${domain}${end}`),
  );

  fc.assert(
    fc.property(field, value => {
      const [header = {name: 'From', value: ''}] = headersOf(`From: ${value}\r\n\r\n`);
      // With a blank behind it no field is plain.
      const found = readAuthorField(`${header.value} `).addresses.map(({local, domain}) =>
        comparableAddress(
          (domain === undefined ? local : `${local}@${canonicalMailDomain(domain) ?? domain}`).replaceAll('\x02', ''),
        ),
      );
      t.deepEqual(authorAddresses([header]), [...new Set(found)]);
    }),
    {numRuns: 3000},
  );
});

test('of a header with thousands of addresses the first twenty are kept, and none that is too long for one', t => {
  const many = Array.from({length: 10_000}, (_, n) => `a${n}@b.test`);
  const long = `${'a'.repeat(600)}@b.test`;

  t.deepEqual(authorAddresses([{name: 'From', value: [long, ...many].join(', ')}]), many.slice(0, 20));
  const longer = Array.from({length: 10}, (_, n) => `${'a'.repeat(300)}@b${n}.test`);
  t.deepEqual(authorAddresses([{name: 'From', value: [...longer, 'a\ufffd@b.test'].join(', ')}]), longer.slice(0, 6));
  t.deepEqual(authorAddresses(many.map(value => ({name: 'From', value}))), many.slice(0, 10));
});
