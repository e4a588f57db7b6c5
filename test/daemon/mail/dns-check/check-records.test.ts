// Comparison of records with a name server of the test.
import test, {type ExecutionContext} from 'ava';
import {createDnsAnswers} from '../../../../daemon/mail/authentication/dns-answers.ts';
import {checkDmarc} from '../../../../daemon/mail/dns-check/check-dmarc.ts';
import {createDnsCheck} from '../../../../daemon/mail/dns-check/check-records.ts';
import {checkSender} from '../../../../daemon/mail/readers/check-sender.ts';
import {type DnsFacts, wantedRecords} from '../../../../daemon/services/dns/wanted-records.ts';
import {startDnsZone, type Zone} from '../../../helpers/dns-zone.ts';

const facts: DnsFacts = {
  domain: {name: 'example.com', direction: 'inbound', dkim_active: true},
  keys: [{dns_name: 's1._domainkey.example.com', dns_record: 'v=DKIM1; k=rsa; p=AAAABBBB'}],
  hosts: ['mx1.example.net', 'mx2.example.net'],
  receiveAt: ['dmarc@example.com'],
  unread: [],
  hasCertificate: true,
};

const good: Zone = {
  'example.com': {MX: ['10 MX1.example.net', '20 mx2.example.net'], TXT: ['v=spf1 mx -all', 'other=text']},
  'mx1.example.net': {A: ['192.0.2.1'], AAAA: ['2001:db8::1']},
  'mx2.example.net': {A: ['192.0.2.2']},
  's1._domainkey.example.com': {TXT: ['k=rsa;p=AAAA BBBB']},
  '_dmarc.example.com': {TXT: ['v=DMARC1; p=quarantine; rua=mailto:other@example.com,mailto:DMARC@example.com']},
  '_mta-sts.example.com': {TXT: ['v=STSv1; id=20260301;']},
  '_smtp._tls.example.com': {TXT: ['v=TLSRPTv1; rua=https://reports.test/tls']},
};

const check = async (
  t: ExecutionContext,
  change: Zone = {},
  options: {facts?: Partial<DnsFacts>; isMute?: (question: string) => boolean} = {},
) => {
  const {server} = await startDnsZone(t, {...good, ...change}, options.isMute);
  const newLookup = () =>
    createDnsAnswers({
      servers: [server],
      timeoutMs: options.isMute ? 2000 : 20_000,
      monotonic: () => performance.now(),
      onMute() {},
      onBack() {},
    }).forMail();
  const known = {...facts, ...options.facts};
  const {records, published} = await createDnsCheck(newLookup, checkSender)(wantedRecords(known), known);
  const of = (kind: string) => records.find(record => record.kind === kind);
  return {records, published, of, says: (kind: string) => `${of(kind)?.state}: ${of(kind)?.detail}`};
};

test('records that mean what they should are right, whatever they look like', async t => {
  const {records, published} = await check(t);

  t.deepEqual(
    records.map(({kind, state, detail}) => [kind, state, detail]),
    ['mx', 'spf', 'dkim', 'dmarc', 'mta-sts', 'tls-rpt'].map(kind => [kind, 'right', '']),
  );
  t.is(published, 'quarantine');
  t.deepEqual(records[3]?.values, ['v=DMARC1; p=quarantine; rua=mailto:other@example.com,mailto:DMARC@example.com']);
});

test('nothing in DNS is missing, each record by itself', async t => {
  const {records, published} = await check(t, Object.fromEntries(Object.keys(good).map(name => [name, {}])));

  t.deepEqual(new Set(records.map(({state}) => state)), new Set(['missing']));
  t.is(published, undefined);
});

const wrong: [what: string, kind: string, change: Zone, says: RegExp][] = [
  [
    'a node without mail',
    'mx',
    {'example.com': {...good['example.com'], MX: ['10 mx1.example.net']}},
    /^differs: without mx2\.example\.net$/,
  ],
  [
    'a way past the filter',
    'mx',
    {'example.com': {...good['example.com'], MX: ['10 mx1.example.net', '10 mx2.example.net', '20 old.test']}},
    /^differs: mail to old\.test goes past the filter$/,
  ],
  ['a domain that takes no mail', 'mx', {'example.com': {...good['example.com'], MX: ['0 .']}}, /^differs: .*takes no mail$/],
  ['a node without an address', 'mx', {'mx2.example.net': {}}, /^differs: no address in DNS: mx2\.example\.net$/],
  [
    'SPF without a node',
    'spf',
    {'example.com': {...good['example.com'], TXT: ['v=spf1 ip4:192.0.2.1 -all']}},
    /mx2\.example\.net \(192\.0\.2\.2\): fail/,
  ],
  [
    'SPF for everybody',
    'spf',
    {'example.com': {...good['example.com'], TXT: ['v=spf1 mx +all']}},
    /^differs: \+all lets everybody send/,
  ],
  [
    'SPF that says nothing',
    'spf',
    {'example.com': {...good['example.com'], TXT: ['v=spf1 mx ?all']}},
    /^differs: \?all says nothing/,
  ],
  ['SPF without an end', 'spf', {'example.com': {...good['example.com'], TXT: ['v=spf1 mx']}}, /^differs: the end is missing/],
  [
    'two SPF records',
    'spf',
    {'example.com': {...good['example.com'], TXT: ['v=spf1 mx -all', 'v=spf1 -all']}},
    /^differs: 2 SPF records/,
  ],
  ['a loop in SPF', 'spf', {'example.com': {...good['example.com'], TXT: ['v=spf1 include:example.com -all']}}, /permerror/],
  ['another key', 'dkim', {'s1._domainkey.example.com': {TXT: ['v=DKIM1; p=CCCC']}}, /^differs: another public key/],
  ['a revoked key', 'dkim', {'s1._domainkey.example.com': {TXT: ['v=DKIM1; p=']}}, /^differs: the key is revoked/],
  [
    'another kind of key',
    'dkim',
    {'s1._domainkey.example.com': {TXT: ['v=DKIM1; k=ed25519; p=AAAABBBB']}},
    /^differs: another kind of key/,
  ],
  [
    'two policies',
    'dmarc',
    {'_dmarc.example.com': {TXT: ['v=DMARC1; p=none', 'v=DMARC1; p=reject']}},
    /^differs: 2 DMARC records/,
  ],
  [
    'a policy that is none',
    'dmarc',
    {'_dmarc.example.com': {TXT: ['v=DMARC1; p=strict; rua=mailto:dmarc@example.com']}},
    /^differs: no valid policy/,
  ],
  [
    'reports that go elsewhere',
    'dmarc',
    {'_dmarc.example.com': {TXT: ['v=DMARC1; p=none; rua=mailto:a@b.test']}},
    /^differs: reports do not go to dmarc@example\.com/,
  ],
  ['MTA-STS without an id', 'mta-sts', {'_mta-sts.example.com': {TXT: ['v=STSv1; id=']}}, /^differs: id must be/],
  [
    'TLS-RPT without an address',
    'tls-rpt',
    {'_smtp._tls.example.com': {TXT: ['v=TLSRPTv1; rua=ftp://x']}},
    /^differs: rua must be/,
  ],
];

for (const [what, kind, change, says] of wrong)
  test(`${what} differs, and is said in plain words`, async t => {
    const checked = await check(t, change);

    t.regex(checked.says(kind), says);
  });

test('what should be there keeps what others need of what is there', async t => {
  const wantedWith = async (spf: string, dmarc: string) => {
    const {of} = await check(t, {'example.com': {...good['example.com'], TXT: [spf]}, '_dmarc.example.com': {TXT: [dmarc]}});
    return [of('spf')?.values[0], of('dmarc')?.values[0]];
  };

  t.deepEqual(
    await wantedWith(
      'v=spf1 ip4:203.0.113.0/24 include:spf.provider.test ?all',
      'v=DMARC1; p=reject; adkim=s; rua=mailto:a@b.test; fo=1',
    ),
    [
      'v=spf1 mx ip4:203.0.113.0/24 include:spf.provider.test -all',
      'v=DMARC1; p=reject; adkim=s; rua=mailto:a@b.test,mailto:dmarc@example.com; fo=1',
    ],
  );
  t.deepEqual(await wantedWith('v=spf1 ip4:203.0.113.0/24 ~all', 'v=DMARC1; p=none;'), [
    'v=spf1 mx ip4:203.0.113.0/24 ~all',
    'v=DMARC1; p=none; rua=mailto:dmarc@example.com',
  ]);
  for (const [dmarc, wanted] of [
    ['v=DMARC1; p=none; ;; ', 'v=DMARC1; p=none; rua=mailto:dmarc@example.com'],
    ['v=DMARC1; p=none; Rua = ; t=y;', 'v=DMARC1; p=none; Rua =mailto:dmarc@example.com; t=y;'],
    ['v=DMARC1; p=none; rua= mailto:a@b.test ', 'v=DMARC1; p=none; rua=mailto:a@b.test,mailto:dmarc@example.com'],
  ] as const)
    t.is((await wantedWith('v=spf1 mx -all', dmarc))[1], wanted);
});

test('a record with any number of blanks takes little time', async t => {
  const blanks = ' '.repeat(20_000);
  for (const tags of [`x=${blanks}x`, `${blanks};`.repeat(3) + blanks, `rua=${blanks}x${blanks}y`, ';'.repeat(60_000)]) {
    const lookup = async () => [[`v=DMARC1; p=none; ${tags}x`]];
    const name = '_dmarc.example.com';
    // With a backtracking regular expression, one of them takes nearly a second.
    for (let time = 0; time < 200; time += 1) {
      const needs = {facts, lookup, addresses: Promise.resolve(new Map()), checkSender};
      const {state} = await checkDmarc({kind: 'dmarc', name, type: 'TXT', values: []}, needs as never);
      if (state !== 'differs') t.fail(state);
    }
  }
  t.pass();
});

test('other mechanisms may let the nodes send as well', async t => {
  const zone = {
    'example.com': {...good['example.com'], TXT: ['v=spf1 include:spf.provider.test ip4:192.0.2.0/24 ip6:2001:db8::/32 ~all']},
    'spf.provider.test': {TXT: ['v=spf1 ip4:203.0.113.0/24 -all']},
  };

  t.is((await check(t, zone)).says('spf'), 'right: ');
});

test('the consent of another domain is missing, there, or not needed within one organisation', async t => {
  const elsewhere = {facts: {receiveAt: ['dmarc@reports.test']}};
  const name = 'example.com._report._dmarc.reports.test';
  const sibling = {facts: {domain: {...facts.domain, name: 'a.example.com'}, receiveAt: ['dmarc@b.example.com']}};

  t.is((await check(t, {}, elsewhere)).says('dmarc-consent'), 'missing: ');
  t.is((await check(t, {[name]: {TXT: ['v=DMARC1;']}}, elsewhere)).says('dmarc-consent'), 'right: ');
  t.regex((await check(t, {}, sibling)).says('dmarc-consent'), /^right: not needed: both domains belong to example\.com$/);
});

test('name servers that say nothing leave a record unknown, and the others are still checked', async t => {
  const {says, records} = await check(t, {}, {isMute: question => question.includes('_dmarc')});

  t.is(says('dmarc'), 'unknown: the name servers did not answer in time');
  t.is(says('mx'), 'right: ');
  t.is(records.length, 6);
});

test('what a hostile zone answers is bounded', async t => {
  const zone = {
    'example.com': {
      MX: Array.from({length: 12}, (_, n) => `10 evil${n}.test`),
      TXT: Array.from({length: 4}, () => `v=spf1 ${'a'.repeat(200)} -all`),
    },
    's1._domainkey.example.com': {TXT: [`v=DKIM1; p=\u001b]0;x\u0007${'A'.repeat(200)}`]},
  };

  const {of} = await check(t, zone);

  t.regex(of('mx')?.detail ?? '', /evil\d+\.test, .* and 7 more goes past the filter$/);
  t.is(of('mx')?.found.length, 10);
  t.is(of('dkim')?.state, 'differs');
  for (const text of [...(of('mx')?.found ?? []), ...(of('spf')?.found ?? []), ...(of('dkim')?.found ?? [])])
    t.true(text.length <= 1000);
});
