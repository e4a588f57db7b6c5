import test from 'ava';
import {adviceOf, type ReportedResults} from '../../../../daemon/services/dns/dmarc-advice.ts';
import {loadPublicSuffixes} from '../../../../daemon/services/public-suffixes.ts';
import type {DmarcPolicy} from '../../../../shared/mail-authentication.ts';

const receivers = ['google.test', 'yahoo.test', 'mail.example.test'];

const source = (source_ip: string, count: number, passed: number, name: string | null = null, reporters = receivers) => ({
  ...{source_ip, name, count, passed},
  reporters: reporters.map(reporter => ({reporter})),
});

/** Seen alike by three receivers. */
const results = (...sources: ReportedResults['sources']): ReportedResults => {
  const sum = (name: 'count' | 'passed') => sources.reduce((total, one) => total + one[name], 0);
  const [count, passed] = [sum('count'), sum('passed')];
  return {since: '2026-03-01', count, sources, reporters: receivers.map(reporter => ({reporter, count, passed}))};
};

const ours = (count: number) => source('192.0.2.1', count, count, 'mx1.example.com');
const shop = source('198.51.100.7', 30, 0, 'shop.example.net');

const {organizationOf} = await loadPublicSuffixes();

const advice = (published: DmarcPolicy | undefined, reported: ReportedResults) =>
  adviceOf({published, results: reported, organizationOf}).join('\n');

/** What each says: its domain, the mails it saw and those that passed. */
const saidBy = (...all: [reporter: string, count: number, passed: number][]): ReportedResults => ({
  since: '2026-03-01',
  count: all.reduce((sum, [, count]) => sum + count, 0),
  reporters: all.map(([reporter, count, passed]) => ({reporter, count, passed})),
  sources: [],
});

const cases: [what: string, published: DmarcPolicy | undefined, reported: ReportedResults, wanted: string][] = [
  [
    'enough passes for quarantine',
    'none',
    results(ours(970), shop),
    '97 % of your mail passes DMARC (1000 mails since 2026-03-01); move from p=none to p=quarantine; these sources would suffer: shop.example.net (30 mails)',
  ],
  [
    'too little passes',
    'none',
    results(ours(500), source('203.0.113.9', 80, 0), shop),
    '81 % of your mail passes DMARC (610 mails since 2026-03-01); stay with p=none until these sources are authenticated: 203.0.113.9 (80 mails), shop.example.net (30 mails)',
  ],
  [
    'just too little passes',
    'none',
    results(ours(949), source('203.0.113.9', 51, 0)),
    '94 % of your mail passes DMARC (1000 mails since 2026-03-01); stay with p=none until these sources are authenticated: 203.0.113.9 (51 mails)',
  ],
  [
    'enough passes for reject',
    'quarantine',
    results(ours(1000)),
    '100 % of your mail passes DMARC (1000 mails since 2026-03-01); move from p=quarantine to p=reject',
  ],
  [
    'too little passes for reject',
    'quarantine',
    results(ours(970), shop),
    '97 % of your mail passes DMARC (1000 mails since 2026-03-01); stay with p=quarantine until these sources are authenticated: shop.example.net (30 mails)',
  ],
  [
    'the policy is the strictest',
    'reject',
    results(ours(999), source('203.0.113.9', 1, 0)),
    '99 % of your mail passes DMARC (1000 mails since 2026-03-01); p=reject turns away mail of 203.0.113.9 (1 mail)',
  ],
  [
    'there is little mail',
    'none',
    results(ours(99)),
    '100 % of your mail passes DMARC (99 mails since 2026-03-01); stay with p=none: 100 mails are needed for advice',
  ],
  [
    'there is no policy',
    undefined,
    results(ours(1000)),
    '100 % of your mail passes DMARC (1000 mails since 2026-03-01); publish the record with p=none',
  ],
  [
    'nobody has reported',
    'none',
    results(),
    'No verified report about this domain came in 30 days: keep the policy as it is until some do',
  ],
];

for (const [what, published, reported, wanted] of cases)
  test(`the advice where ${what} is plain`, t => {
    t.is(advice(published, reported), wanted);
  });

test('of many sources the five that fail most are named', t => {
  const many = Array.from({length: 20}, (_, n) => source(`192.0.2.${n}`, n, 0));

  t.regex(advice('none', results(...many)), /: 192\.0\.2\.19 \(19 mails\), .*192\.0\.2\.15 \(15 mails\)$/);
});

test('one reporter moves the advice by its vote, whatever the numbers that it claims', t => {
  const honest: [string, number, number][] = [
    ['google.test', 1000, 100],
    ['yahoo.test', 500, 50],
    ['mail.test', 40, 4],
  ];

  const alone = advice('none', saidBy(...honest));
  const forged = advice('none', saidBy(...honest, ['liar.test', 900_000_000, 900_000_000]));

  t.regex(alone, /^10 % of your mail passes DMARC \(1540 mails since 2026-03-01\); stay with p=none until 95 % pass$/);
  t.regex(forged, /^32 % of your mail passes DMARC .*; stay with p=none until 95 % pass$/);
});

test('with fewer than three independent organisations it says that it knows too little', t => {
  const names = ['a.liar.example', 'b.liar.example', 'x.y.liar.example', 'liar.example', 'google.test'];
  const two = advice('none', saidBy(...names.map((name): [string, number, number] => [name, 1000, 1000])));
  const one = advice(
    'quarantine',
    saidBy(['one.github.io', 500, 500], ['two.github.io', 500, 500], ['three.github.io', 500, 500]),
  );
  const few = advice(undefined, saidBy(['a.test', 500, 500], ['b.test', 500, 500], ['c.test', 9, 9]));

  t.is(
    two,
    '2 organisations report about 10 mails or more of this domain since 2026-03-01, which is too little for advice; stay with p=none: 3 independent ones are needed',
  );
  t.regex(one, /^1 organisation reports .*; stay with p=quarantine: 3 independent ones are needed$/);
  t.regex(few, /^2 organisations report .*; publish the record with p=none: 3 independent ones are needed$/);
});

test('of failing sources those come first that the most organisations name', t => {
  const forged = Array.from({length: 9}, (_, n) =>
    source(`203.0.113.${n}`, 900_000, 0, null, ['a.liar.example', 'b.liar.example']),
  );

  t.regex(advice('reject', results(ours(970), shop, ...forged)), / turns away mail of shop\.example\.net \(30 mails\), 203\./);
});
