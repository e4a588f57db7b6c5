// Names from outside: domains, addresses, host:port, keys. Accepted names are canonical and safe to pass on.
import {domainToASCII} from 'node:url';
import test from 'ava';
import fc from 'fast-check';
import {generateApiKey, isApiKeyValue, toBase62} from '../../shared/api-key-value.ts';
import {canonicalDomain, canonicalMailDomain, domainNameFault, unicodeDomain} from '../../shared/domain-name.ts';
import {formatHostPort, parseHostPort} from '../../shared/host-port.ts';
import {comparableAddress, domainOf, parseMailAddress} from '../../shared/mail-address.ts';
import {anyCharacter} from '../helpers/any-character.ts';

const anyText = fc.oneof(
  fc.string({unit: anyCharacter, maxLength: 40}),
  fc.domain(),
  fc.emailAddress(),
  fc
    .array(fc.constantFrom('a', 'Z', '.', '-', '@', 'ü', '。', '1', '[', ']', ':', ' ', '\0', '"', '<', '>', '\u200d', 'xn--'), {
      maxLength: 12,
    })
    .map(parts => parts.join('')),
);

test('a domain that passes is lower-case ASCII labels with a dot, and its own canonical form', t => {
  fc.assert(
    fc.property(anyText, text => {
      const name = canonicalDomain(text);
      if (name === undefined) return;
      t.regex(name, /^(?=.{3,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/);
      t.is(canonicalDomain(name), name);
      t.is(canonicalDomain(`${name}.`), name);
      t.is(canonicalDomain(name.toUpperCase()), name);
    }),
    {numRuns: 2000},
  );
});

test('a plain name is what IDNA makes of it', t => {
  const parts = fc.constantFrom('a', 'Z', '0', '0x1f', '12', '-', '.', 'xn--', 'xn--bcher-kva', 'test');
  fc.assert(
    fc.property(fc.array(parts, {minLength: 1, maxLength: 8}), all => {
      const text = all.join('');
      const name = canonicalDomain(text);
      if (name !== undefined) t.is(name, domainToASCII(text.replace(/\.$/, '')));
    }),
    {numRuns: 5000},
  );
});

test('a domain of mail may contain _ where a domain of the cluster may not, and is the same in all else', t => {
  for (const name of ['foo_bar.test', '_dmarc.foo.test', 'a_.b_c.test', '_.test']) {
    t.is(canonicalDomain(name), undefined, name);
    t.is(canonicalMailDomain(`${name.toUpperCase()}.`), name);
  }
  t.is(canonicalMailDomain('BÜ_cher.test'), 'xn--b_cher-3ya.test');
  for (const name of ['foo_bar', '-_.test', 'a_-.test', `${'_'.repeat(64)}.test`, 'a_b@c.test'])
    t.is(canonicalMailDomain(name), undefined, name);
  fc.assert(
    fc.property(anyText, text => {
      const name = canonicalMailDomain(text);
      if (name === undefined || !name.includes('_')) t.is(name, canonicalDomain(text));
      else t.is(canonicalMailDomain(name), name);
    }),
    {numRuns: 2000},
  );
});

test('every ordinary domain passes', t => {
  fc.assert(fc.property(fc.domain(), domain => t.is(canonicalDomain(domain), domain.toLowerCase())));
});

test('an address that passes fits into a command line without ending it', t => {
  fc.assert(
    fc.property(anyText, text => {
      const address = parseMailAddress(text);
      if (!address) return;
      t.notRegex(address.local, /[\x00-\x1f\x7f-\x9f<>]/);
      t.notRegex(address.domain, /[^a-z0-9_.:[\]-]/);
      t.is(domainOf(text), address.domain);
      const compared = comparableAddress(text);
      t.is(comparableAddress(compared), compared);
      t.is(comparableAddress(text.toUpperCase()), comparableAddress(text.toUpperCase().toLowerCase()));
    }),
    {numRuns: 2000},
  );
});

test('addresses are distinguished from text that only looks like one', t => {
  const good = [
    'a@b.test',
    'A.b+tag@B.test',
    '"odd @ name"@b.test',
    'ü@bücher.test',
    "o'brien=x/y@b.test",
    'root@localhost',
    'root@[192.0.2.1]',
    'root@[IPv6:2001:db8::1]',
    `${'a'.repeat(255)}@b.test`,
    'a..b@b.test',
    '.ab@b.test',
    'ab.@b.test',
    '"odd user"@b.test',
    '"\\"a\\\\b\\""@b.test',
    '""@b.test',
    'a@foo_bar.test',
    'root@web_1',
  ];
  const bad = [
    '',
    '@',
    'a@',
    '@b.test',
    'a b@b.test',
    'a@b.test>',
    '<a@b.test>',
    'a@b@c.test',
    'a@b.test\r\nRCPT TO:<x@y.test>',
    'a\0@b.test',
    `${'a'.repeat(256)}@b.test`,
    'a@[mx.test]',
    'a@[999.0.0.1]',
    'a@_-.test',
    '"a\r"@b.test',
    'a,b@c.test',
    'odd user@b.test',
    '"odd user@b.test',
    '"odd" user@b.test',
    '"odd user".b@b.test',
    '"a"b"@b.test',
    '"a\\"@b.test',
    '"a<b"@b.test',
    '"a\\>b"@b.test',
    '"a\\\u0085"@b.test',
    'a\u009bb@b.test',
    '"a\u009bb"@b.test',
    'a\u200bb@b.test',
    '"a\ufeffb"@b.test',
  ];

  for (const text of good) t.truthy(parseMailAddress(text), text);
  for (const text of bad) t.is(parseMailAddress(text), undefined, JSON.stringify(text));
  t.is(comparableAddress('Ann.B@BÜCHER.test'), 'ann.b@xn--bcher-kva.test');
  t.is(comparableAddress(''), '');
});

test('host and port survive being written down and read again', t => {
  const host = fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6(), fc.constantFrom('localhost', 'mx_1', '::1'));
  fc.assert(
    fc.property(host, fc.integer({min: 1, max: 65_535}), (name, port) => {
      t.deepEqual(parseHostPort(formatHostPort({host: name, port})), {host: name, port});
    }),
  );
  fc.assert(
    fc.property(anyText, text => {
      const parsed = parseHostPort(text);
      if (parsed) t.deepEqual(parseHostPort(formatHostPort(parsed)), parsed);
    }),
  );
});

test('port 0 passes only where any free port will do', t => {
  t.is(parseHostPort('127.0.0.1:0'), undefined);
  t.deepEqual(parseHostPort('127.0.0.1:0', {allowZero: true}), {host: '127.0.0.1', port: 0});
  t.is(parseHostPort('127.0.0.1:65536', {allowZero: true}), undefined);
});

test('a generated key is valid, and no longer with one character changed, missing, added or swapped with its neighbour', t => {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  fc.assert(
    fc.property(fc.integer({min: 4, max: 41}), fc.constantFrom(...alphabet), (at, char) => {
      const key = generateApiKey();
      t.true(isApiKeyValue(key));

      const swapped = key.slice(0, at - 1) + key.charAt(at) + key.charAt(at - 1) + key.slice(at + 1);
      for (const wrong of [
        key.slice(0, at) + char + key.slice(at + 1),
        key.slice(0, at) + key.slice(at + 1),
        key.slice(0, at) + char + key.slice(at),
        swapped,
      ])
        t.is(isApiKeyValue(wrong), wrong === key, `${key} ${wrong}`);
    }),
  );
  t.is(new Set(Array.from({length: 1000}, generateApiKey)).size, 1000);
});

test('base62 keeps the order of numbers at one length', t => {
  t.is(toBase62(0, 6), '000000');
  t.is(toBase62(61, 2), '0z');
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (a, b) => {
      t.is(toBase62(a, 8) < toBase62(b, 8), a < b);
    }),
  );
});

test('what an editor or a copy puts around a name, or hides in it, is told', t => {
  for (const [text, fault] of [
    ['\u201cexample.org\u201d', 'has the quotation mark \u201c (U+201C); give the name without it'],
    ['\u00abexample.org\u00bb', 'has the quotation mark \u00ab (U+00AB); give the name without it'],
    ["'example.org'", "has the quotation mark ' (U+0027); give the name without it"],
    ['example.org ', 'has a blank (U+0020); give the name without it'],
    ['example.org\u00a0', 'has a blank (U+00A0); give the name without it'],
    ['\ufeffexample.org', 'has a blank (U+FEFF); give the name without it'],
    ['\u200bexample.org', 'has an invisible character (U+200B); give the name without it'],
    ['exam\u00adple.org', 'has an invisible character (U+00AD); give the name without it'],
    ['\u200dexample.org', 'has an invisible character (U+200D); give the name without it'],
    ['exam\u200dple.org', 'has an invisible character (U+200D); give the name without it'],
    ['exam\ufe0fple.org', 'has an invisible character (U+FE0F); give the name without it'],
    ['exa_mple..com', 'has two dots with nothing between them'],
    ['exa_mple.com', 'has the character _, which no host name has'],
    ['example', 'must be a host name with at least one dot, such as example.com'],
  ] as const)
    t.is(domainNameFault(text), fault, JSON.stringify(text));
});

test('the selector that keyboards write after an emoji is no fault, and not part of the name', t => {
  for (const [text, name] of [
    ['\u2764\ufe0f.example', 'xn--qei.example'],
    ['\u2764.example', 'xn--qei.example'],
    ['1\ufe0f\u20e3.example', canonicalDomain('1\u20e3.example')],
  ] as const) {
    t.is(domainNameFault(text), undefined, JSON.stringify(text));
    t.is(canonicalDomain(text), name);
  }
});

test('names of other scripts are no fault, and their A-labels can be read back', t => {
  for (const text of [
    'b\u00fccher.example',
    '\u4f8b\u5b50.\u6d4b\u8bd5',
    '\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.example',
    'Example.COM.',
  ])
    t.is(domainNameFault(text), undefined, text);
  t.is(unicodeDomain('xn--bcher-kva.example'), 'b\u00fccher.example');
  t.is(unicodeDomain('example.com'), undefined);
});

test('a name without a fault has a canonical form', t => {
  fc.assert(
    fc.property(anyText, text => {
      if (domainNameFault(text) === undefined) t.not(canonicalDomain(text), undefined);
    }),
    {numRuns: 2000},
  );
});
