// SPF: the limits of an evaluation (RFC 7208 section 4.6.4).
import test from 'ava';
import {type SpfZone, spfResult, testSpf} from '../../../helpers/spf-cases.ts';

const repeat = (count: number, make: (n: number) => string): string =>
  Array.from({length: count}, (_, n) => make(n + 1)).join(' ');

const zoneOf = (count: number, make: (n: number) => SpfZone): SpfZone =>
  Object.assign({}, ...Array.from({length: count}, (_, n) => make(n + 1)));

const hosts = (count: number) => zoneOf(count, n => ({[`a${n}.test`]: {A: [`198.51.100.${n}`]}}));

testSpf('4.6.4 lookup limits', [
  {says: 'ten lookups are allowed', record: `v=spf1 ${repeat(10, n => `a:a${n}.test`)} +all`, zone: hosts(10), result: 'pass'},
  {
    says: 'eleven lookups are too many',
    record: `v=spf1 ${repeat(11, n => `a:a${n}.test`)} +all`,
    zone: hosts(11),
    result: 'permerror',
  },
  {says: 'addresses and all cost nothing', record: `v=spf1 ${repeat(40, n => `ip4:198.51.100.${n}`)} -all`, result: 'fail'},
  {
    says: 'the same name counts each time',
    record: `v=spf1 ${repeat(11, () => 'a:a1.test')} +all`,
    zone: hosts(1),
    result: 'permerror',
  },
  {
    says: 'a match before the limit counts',
    record: `v=spf1 a:hit.test ${repeat(11, n => `a:a${n}.test`)} -all`,
    zone: {'hit.test': {A: ['192.0.2.1']}},
    result: 'pass',
  },
  {
    says: 'lookups of included records count',
    record: `v=spf1 include:i.test ${repeat(5, n => `a:a${n}.test`)} +all`,
    zone: {...hosts(10), 'i.test': {TXT: [`v=spf1 ${repeat(5, n => `a:a${n + 5}.test`)} -all`]}},
    result: 'permerror',
  },
  {says: 'a record that includes itself is an error', record: 'v=spf1 include:example.test +all', result: 'permerror'},
  {says: 'a record that is redirected to itself is an error', record: 'v=spf1 redirect=example.test', result: 'permerror'},
  {
    says: 'two records that include each other are an error',
    record: 'v=spf1 include:i.test +all',
    zone: {'i.test': {TXT: ['v=spf1 include:example.test -all']}},
    result: 'permerror',
  },
  {
    says: 'exp costs nothing',
    record: `v=spf1 exp=e.test ${repeat(10, n => `a:a${n}.test`)} -all`,
    zone: {...hosts(10), 'e.test': {TXT: ['no']}},
    result: 'fail',
  },
  {says: 'two void lookups are allowed', record: 'v=spf1 a:v1.test mx:v2.test +all', result: 'pass'},
  {says: 'three void lookups are too many', record: 'v=spf1 a:v1.test mx:v2.test exists:v3.test +all', result: 'permerror'},
  {
    says: 'a name without records of the type is void',
    record: 'v=spf1 a:t1.test a:t2.test a:t3.test +all',
    zone: zoneOf(3, n => ({[`t${n}.test`]: {TXT: ['x']}})),
    result: 'permerror',
  },
  {
    says: 'an address that differs is not void',
    record: `v=spf1 ${repeat(5, n => `a:a${n}.test`)} -all`,
    zone: hosts(5),
    result: 'fail',
  },
  {says: 'ten mail exchangers are looked up', record: 'v=spf1 mx -all', zone: mailExchangers(10), result: 'pass'},
  {says: 'an eleventh mail exchanger is too many', record: 'v=spf1 mx -all', zone: mailExchangers(11), result: 'permerror'},
]);

/** The last of them has the address of the client. */
function mailExchangers(count: number): SpfZone {
  const names = zoneOf(count, n => ({[`mx${n}.test`]: {A: [n === count ? '192.0.2.1' : `198.51.100.${n}`]}}));
  return {
    ...names,
    'example.test': {TXT: ['v=spf1 mx -all'], MX: Array.from({length: count}, (_, n) => `${n + 1} mx${n + 1}.test`)},
  };
}

test('a record that leads everywhere costs no more than its limits', async t => {
  const asked: string[] = [];
  const record = `v=spf1 ${repeat(500, n => `include:i${n}.test`)} +all`;

  const result = await spfResult({record, zone: zoneOf(500, n => ({[`i${n}.test`]: {TXT: [record]}}))}, asked);

  t.is(result, 'permerror');
  t.true(asked.length <= 12, String(asked.length));
});

test('a record that is longer than any in use is an error, and another text of that length is not', async t => {
  const long = 'a= '.repeat(20_000);

  t.is(await spfResult({record: `v=spf1 ${long}+all`}), 'permerror');
  t.is(await spfResult({record: [`text ${long}`, 'v=spf1 +all']}), 'pass');
  t.is(await spfResult({record: `v=spf1 ${repeat(200, n => `ip4:198.51.100.${n % 250}`)} +all`}), 'pass');
});

test('a record of more macros than any in use is an error', async t => {
  const record = (macros: number) => `v=spf1 exists:${'%{h}'.repeat(macros)}.test +all`;

  t.is(await spfResult({record: record(99)}), 'pass');
  t.is(await spfResult({record: record(100)}), 'permerror');
});

test('of a greeting that no domain can be as long as, the beginning is written into names', async t => {
  const asked: string[] = [];

  await spfResult({record: 'v=spf1 exists:%{h1}.h.test -all', helo: `${'a.'.repeat(127)}b.${'c.'.repeat(1900)}end`}, asked);

  t.is(asked.at(-1), 'A b.h.test');
});
