import test from 'ava';
import {createRetentionRules} from '../../../../daemon/services/domains/retention-rules.ts';
import {unreadableRetention} from '../../../../shared/retention.ts';

const domainAdmin = {scope: 'domain-admin'} as const;

const pathsOf = (
  wanted: unknown,
  current: Parameters<ReturnType<typeof createRetentionRules>>[2] = null,
  most: number | undefined = 90,
) => createRetentionRules({maxDays: () => most})(domainAdmin, wanted, current).map(({path}) => path);

test('a domain-admin key sets no more days than the operator allows, for any reason', t => {
  t.deepEqual(pathsOf({days: 90, by_reason: {spam: 90, rbl: 0.5}}), []);
  t.deepEqual(pathsOf({days: 90.1, by_reason: {spam: 91, rbl: 36_500}}), ['days', 'by_reason.spam', 'by_reason.rbl']);
});

test('days that an administrator has set stay as they are, and change only to what is allowed', t => {
  const current = {days: 365, by_reason: {spam: 200}};

  t.deepEqual(pathsOf({days: 365, by_reason: {spam: 200}}, current), []);
  t.deepEqual(pathsOf({days: 364, by_reason: {spam: 365}}, current), ['days', 'by_reason.spam']);
  t.deepEqual(pathsOf({days: null, by_reason: null}, current), []);
});

test('a reason does not lose days of its own where those of the domain are more than allowed', t => {
  const current = {days: 365, by_reason: {spam: 7, rbl: 365}};

  t.deepEqual(pathsOf({by_reason: {spam: null, rbl: null}}, current), ['by_reason.spam']);
  t.deepEqual(pathsOf({by_reason: null}, current), ['by_reason.spam']);
  t.deepEqual(pathsOf({days: 91, by_reason: null}, current), ['days']);
  t.deepEqual(pathsOf({days: 90, by_reason: null}, current), []);
  t.deepEqual(pathsOf({by_reason: {spam: null, phishing: null}}, {days: 90, by_reason: {spam: 7}}), []);
  t.deepEqual(pathsOf({by_reason: {spam: null}}, {days: null, by_reason: {spam: 7}}), []);
});

test('the days that stand for a retention that cannot be read do not become days that are set', t => {
  t.deepEqual(pathsOf({days: 36_500, by_reason: {}}, unreadableRetention), []);
  t.deepEqual(pathsOf({by_reason: {spam: 3}}, unreadableRetention), ['days']);
  t.deepEqual(pathsOf({days: 36_500, by_reason: {spam: 3}}, unreadableRetention), ['days']);
  t.deepEqual(pathsOf({days: 90, by_reason: {spam: 3}}, unreadableRetention), []);
});

test('without a limit, and for other keys, any days are allowed', t => {
  const check = (scope: 'full-admin' | 'domain-admin', most: number | undefined) =>
    createRetentionRules({maxDays: () => most})({scope}, {days: 36_500}, undefined).length;

  t.deepEqual([check('domain-admin', undefined), check('full-admin', 1), check('domain-admin', 1)], [0, 0, 1]);
});

test('what is no retention is left to the schema', t => {
  for (const hostile of [undefined, null, 91, '91', [91], {days: '91', by_reason: 91}, {by_reason: [91]}, {days: {}}])
    t.deepEqual(pathsOf(hostile), [], JSON.stringify(hostile));
});
