import test from 'ava';
import {type DmarcLookups, discoverPolicy, evaluateDmarc, type Identifier} from '../../../../daemon/mail/authentication/dmarc.ts';

/** Records by domain. Other domains have none; a domain with `undefined` gives no answer. */
const lookups = (records: Record<string, string | undefined>, existing: readonly string[] = []) => {
  const asked: string[] = [];
  const made: DmarcLookups = {
    async texts(name) {
      const domain = name.replace(/^_dmarc\./, '');
      asked.push(domain);
      if (domain in records && records[domain] === undefined) throw new Error('no answer');
      return [records[domain]].filter(text => text !== undefined);
    },
    exists: async domain => existing.includes(domain),
  };
  return {...made, asked};
};

const evaluate = async (author: string, identifiers: readonly Identifier[], dns: DmarcLookups) =>
  evaluateDmarc(await discoverPolicy(author, dns), identifiers, dns);

const spf = (domain: string, isUnknown = false): Identifier => ({mechanism: 'spf', domain, isUnknown});
const dkim = (domain: string, isUnknown = false): Identifier => ({mechanism: 'dkim', domain, isUnknown});

test('the policy is that of the author domain, of its organisation for subdomains, or of the public suffix', async t => {
  const cases: [author: string, records: Record<string, string>, policy: string | undefined, from: string | undefined][] = [
    ['a.test', {'a.test': 'v=DMARC1; p=reject; sp=none'}, 'reject', 'a.test'],
    ['x.a.test', {'a.test': 'v=DMARC1; p=reject; sp=quarantine'}, 'quarantine', 'a.test'],
    ['x.a.test', {'a.test': 'v=DMARC1; p=reject'}, 'reject', 'a.test'],
    ['x.a.test', {'x.a.test': 'v=DMARC1; p=none', 'a.test': 'v=DMARC1; p=reject'}, 'none', 'x.a.test'],
    ['x.y.a.test', {'y.a.test': 'v=DMARC1; p=quarantine', 'a.test': 'v=DMARC1; p=reject'}, 'reject', 'a.test'],
    ['x.y.a.test', {'y.a.test': 'v=DMARC1; p=quarantine; psd=n', 'a.test': 'v=DMARC1; p=reject'}, 'quarantine', 'y.a.test'],
    ['a.bank', {bank: 'v=DMARC1; p=reject; sp=quarantine; psd=y'}, 'quarantine', 'bank'],
    ['x.a.bank', {'a.bank': 'v=DMARC1; p=none', bank: 'v=DMARC1; p=reject; psd=y'}, 'none', 'a.bank'],
    ['a.test', {'a.test': 'v=DMARC1; p=reject; t=y'}, 'quarantine', 'a.test'],
    ['a.test', {}, undefined, undefined],
  ];
  for (const [author, records, policy, from] of cases) {
    const {policy: found, published, result} = await evaluate(author, [], lookups(records));
    t.deepEqual([found, published?.domain], [policy, from], `${author} ${JSON.stringify(records)}`);
    t.is(result, policy === undefined ? 'none' : 'fail');
  }
});

test('np is for subdomains that do not exist, and only asked about where it is set', async t => {
  const records = {'a.test': 'v=DMARC1; p=none; sp=quarantine; np=reject'};

  t.is((await evaluate('x.a.test', [], lookups(records))).policy, 'reject');
  t.is((await evaluate('x.a.test', [], lookups(records, ['x.a.test']))).policy, 'quarantine');
  t.is((await evaluate('a.test', [], lookups(records))).policy, 'none');
});

test('however many labels a domain has, eight questions find its policy', async t => {
  const dns = lookups({'test.example': 'v=DMARC1; p=reject'});

  const {policy} = await evaluate('a.b.c.d.e.f.g.h.i.j.test.example', [], dns);

  t.is(policy, 'reject');
  t.deepEqual(dns.asked, [
    'a.b.c.d.e.f.g.h.i.j.test.example',
    'f.g.h.i.j.test.example',
    'g.h.i.j.test.example',
    'h.i.j.test.example',
    'i.j.test.example',
    'j.test.example',
    'test.example',
    'example',
  ]);
});

test('an identifier of the same organisation aligns, and in strict mode only one of the very domain', async t => {
  const relaxed = {'a.test': 'v=DMARC1; p=reject'};
  const strict = {'a.test': 'v=DMARC1; p=reject; adkim=s; aspf=s'};
  const aligned = async (records: Record<string, string>, ...identifiers: Identifier[]) =>
    (await evaluate('x.a.test', identifiers, lookups(records))).aligned;

  t.deepEqual(await aligned(relaxed, spf('a.test'), dkim('y.a.test')), ['spf', 'dkim']);
  t.deepEqual(await aligned(relaxed, spf('test'), dkim('ba.test'), dkim('a.test.evil.test')), []);
  t.deepEqual(await aligned(strict, spf('a.test'), dkim('x.a.test')), ['dkim']);
  t.deepEqual(await aligned({...relaxed, 'y.a.test': 'v=DMARC1; psd=n'}, dkim('z.y.a.test')), []);
});

test('an unknown identifier leaves the result open only where it could have aligned', async t => {
  const records = {'a.test': 'v=DMARC1; p=reject'};
  const resultOf = async (...identifiers: Identifier[]) => (await evaluate('a.test', identifiers, lookups(records))).result;

  t.is(await resultOf(spf('a.test', true)), 'temperror');
  t.is(await resultOf(dkim('x.a.test', true)), 'temperror');
  t.is(await resultOf(spf('evil.test', true), dkim('evil.test', true)), 'fail');
  t.is(await resultOf(spf('a.test', true), dkim('a.test')), 'pass');
});

test('without an answer of DNS there is no verdict', async t => {
  await t.throwsAsync(discoverPolicy('a.test', lookups({'a.test': undefined})));
  await t.throwsAsync(discoverPolicy('x.a.test', lookups({'x.a.test': 'v=DMARC1; p=reject', 'a.test': undefined})));
  const dns = {'a.test': 'v=DMARC1; p=reject', 'y.a.test': undefined};
  t.is((await evaluate('a.test', [dkim('y.a.test')], lookups(dns))).result, 'temperror');
  t.is((await evaluate('a.test', [dkim('y.a.test'), spf('a.test')], lookups(dns))).result, 'pass');
});
