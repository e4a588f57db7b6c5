import test from 'ava';
import {type DomainMail, mailPairs} from '../../../../../cli/dashboard/screens/domains/authentication-panel.ts';
import {dmarcSummary, reportedSources} from '../../../../helpers/cli/sample-answers.ts';

const counted = {dmarc_reporting: true};
const pairs = (mail: Partial<DomainMail>, domain = counted) =>
  mailPairs(domain, {received: undefined, reported: undefined, ...mail}).map(([label, value]) => `${label}: ${value}`);

test('what was received and what others report is summed up, with the source that fails most', t => {
  t.deepEqual(pairs({received: dmarcSummary, reported: reportedSources}), [
    'Received: 1,250 mails in 30 days, 96 % pass DMARC, 40 held, 3 rejected',
    'Reported: 1,000 mails in 28 reports, 97 % pass DMARC',
    'Most fail from: 2001:db8::7: 30 of 30 mails',
  ]);
});

test('where all passes there is no source that fails', t => {
  const [source] = reportedSources.sources;
  const reported = {...reportedSources, count: 970, passed: 970, report_count: 1, sources: source ? [source] : []};

  t.deepEqual(pairs({reported}).slice(1), ['Reported: 970 mails in 1 report, 100 % pass DMARC']);
});

test('where nothing came it is said why', t => {
  const nothing = {received: {...dmarcSummary, count: 0, passed: 0, sources: []}};

  t.deepEqual(pairs(nothing), ['Received: nothing in 30 days', 'Reported: no verified reports came in 30 days']);
  t.deepEqual(pairs(nothing, {dmarc_reporting: false})[0], 'Received: not counted: DMARC reporting is off');
  t.deepEqual(pairs({}), ['Received: nothing in 30 days', 'Reported: no verified reports came in 30 days']);
});

test('nothing is said before it is known', t => {
  t.deepEqual(mailPairs(counted, undefined), []);
});
