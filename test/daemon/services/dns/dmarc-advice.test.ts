import test from 'ava';
import {adviceOf, type ReportedResults} from '../../../../daemon/services/dns/dmarc-advice.ts';
import type {DmarcPolicy} from '../../../../shared/mail-authentication.ts';

const source = (source_ip: string, count: number, passed: number, name: string | null = null) => ({
  source_ip,
  name,
  count,
  passed,
});

const results = (...sources: ReportedResults['sources']): ReportedResults => ({
  since: '2026-03-01',
  count: sources.reduce((sum, {count}) => sum + count, 0),
  passed: sources.reduce((sum, {passed}) => sum + passed, 0),
  sources,
});

const ours = (count: number) => source('192.0.2.1', count, count, 'mx1.example.com');
const shop = source('198.51.100.7', 30, 0, 'shop.example.net');

const advice = (published: DmarcPolicy | undefined, reported: ReportedResults) =>
  adviceOf({published, results: reported}).join('\n');

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
