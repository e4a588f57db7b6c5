import test, {type ExecutionContext} from 'ava';
import type {AppliedRetention} from '../../../shared/retention.ts';
import {clusterStatus, domain, peer} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

const path = `/domains/${domain.id}/retention`;

const present: AppliedRetention = {
  domain: domain.name,
  ...{days: null, by_reason: {phishing: 60}},
  in_effect: {spam: 30, phishing: 60, sandbox: 30, rbl: 30},
  of_node: {spam: 30, phishing: 60, sandbox: 30, rbl: 30},
  node_id: 'mx1',
};

const group = {domain: domain.name, node_id: 'mx1', size_bytes: 1, oldest_arrived_at: '2026-01-01T00:00:00.000Z'};
const groups = [
  {...group, reason: 'spam', count: 3},
  {...group, reason: 'phishing', count: 40},
];

const start = async (t: ExecutionContext, answers: Record<string, Reply> = {}) => {
  const api = await startApi(t, {
    'GET /domains': {data: [domain]},
    [`GET ${path}`]: {data: present},
    [`PUT ${path}`]: {data: present},
    [`DELETE ${path}`]: {data: present},
    'GET /mail/quarantine/summary': {data: {count: 43, size_bytes: 2, oldest_arrived_at: group.oldest_arrived_at, groups}},
    'GET /cluster/status': {data: clusterStatus},
    ...answers,
  });
  const run = async (...args: string[]) => api.mfctl(['domain', 'retention', domain.name, ...args]);
  const changes = () => api.requests.filter(({method}) => method !== 'GET').length;
  return {api, run, changes};
};

test('fewer days for any reason are asked about, with the mails that one request counts for those reasons', async t => {
  const {api, run, changes} = await start(t);
  const asked: [string[], RegExp][] = [
    [['--days', '7'], /\(spam 30 → 7, sandbox 30 → 7, rbl 30 → 7\)\? 3 held mails that are older/],
    [['--reason', 'phishing=59.5'], /\(phishing 60 → 59\.5\)\? 40 held mails/],
    [['--days', '90', '--reason', 'rbl=1'], /\(rbl 30 → 1\)\? No held mail is older/],
    [['--reason', 'rbl=1', '--reason', 'spam=2'], /\(spam 30 → 2, rbl 30 → 1\)\? Held mail that is older/],
    [['--reason', 'phishing=default'], /\(phishing 60 → as mfd\.yaml says, if that is fewer\)\? Held mail that is older/],
    [['--default'], /\(phishing 60 → as mfd\.yaml says, if that is fewer\)/],
  ];

  for (const [args, question] of asked) {
    const {code, stderr} = await run(...args);
    t.is(code, 2, args.join(' '));
    t.regex(stderr, question);
    t.regex(stderr, /repeat with --yes/);
  }

  t.is(changes(), 0);
  const [first] = api.requests.filter(({path: of}) => of.endsWith('/summary'));
  t.is(first?.query.get('domain'), domain.name);
  t.true(Math.abs(Date.parse(first?.query.get('until') ?? '') - (Date.now() - 7 * 24 * 3600 * 1000)) < 24 * 3600 * 1000);
});

test('going back to mfd.yaml tells its days where the node that answers has fewer', async t => {
  const {run} = await start(t, {[`GET ${path}`]: {data: {...present, of_node: {...present.of_node, phishing: 14}}}});

  const {code, stderr} = await run('--default');

  t.is(code, 2);
  t.regex(stderr, /\(phishing 60 → 14 by mfd\.yaml of mx1\)\? 40 held mails that are older/);
});

test('the question before a deletion counts held mail, and tells which of it goes with the days of the domain', async t => {
  const asked = async (answers: Record<string, Reply>, member: object = {}) => {
    const {api, changes} = await start(t, {[`GET /domains/${domain.id}`]: {data: {...domain, ...member}}, ...answers});
    const {code, stderr} = await api.mfctl(['domain', 'delete', domain.name]);
    t.deepEqual([code, changes()], [2, 0]);
    return /filters\? (.*) There is no terminal/.exec(stderr)?.[1];
  };
  const longer = {retention: {days: null, by_reason: {phishing: 60}}};
  const ofNode = (phishing: number) => ({[`GET ${path}`]: {data: {...present, of_node: {...present.of_node, phishing}}}});
  const summary = (count: number, more: object = {}) => ({
    'GET /mail/quarantine/summary': {data: {count, groups: []}, ...more} as Reply,
  });
  const again = 'to release it, there has to be such a domain again.';

  t.is(await asked({}), `Held mail: 43. It stays until it expires; ${again}`);
  t.is(await asked({}, {direction: 'outbound'}), 'Held mail: 43. It stays until it expires.');
  t.is(await asked(summary(0)), 'No mail is held for example.com.');
  t.is(
    await asked(summary(0, {headers: {'x-unreachable-nodes': 'mx2'}})),
    `Held mail: 0 (without mx2, not answering). It stays until it expires; ${again}`,
  );
  t.is(
    await asked({'GET /mail/quarantine/summary': {status: 403, error: {code: 'insufficient_scope', detail: 'no'}}}),
    `Its held mail stays until it expires; ${again}`,
  );
  t.is(
    await asked(ofNode(30), longer),
    `Held mail: 43. It is held for fewer days then (phishing 60 → 30 by mfd.yaml of mx1). 40 held mails that are older than that are deleted for good within minutes. The rest stays until it expires, as mfd.yaml of its node says; ${again}`,
  );
  t.is(await asked(ofNode(90), longer), `Held mail: 43. It stays until it expires, as mfd.yaml of its node says; ${again}`);
});

test('more days, the same days and days that the node refuses are not asked about, and neither is anything with --yes', async t => {
  const {run, changes} = await start(t);
  const sent = [
    ['--days', '30'],
    ['--days', '90', '--reason', 'phishing=61'],
    ['--days', '0'],
    ['--default', '--yes'],
  ];

  for (const args of sent) t.is((await run(...args)).code, 0, args.join(' '));

  t.is(changes(), sent.length);
});

test('a summary that fails or lacks a node names no number, and the question comes nevertheless', async t => {
  for (const summary of [
    {status: 403, error: {code: 'forbidden', detail: 'no'}},
    {data: {count: 43, groups}, headers: {'x-unreachable-nodes': 'mx2'}},
  ]) {
    const {run, changes} = await start(t, {'GET /mail/quarantine/summary': summary});
    const {code, stderr} = await run('--days', '7');

    t.deepEqual([code, changes()], [2, 0]);
    t.regex(stderr, /\? Held mail that is older than that is deleted/);
  }
});

test('nodes of an earlier version are named, and none that was never heard', async t => {
  const {problems: _, ...earlier} = {problems: undefined, ...peer};
  const peers = (...names: string[]) => [
    {...peer, node_id: 'mx1', problems: []},
    ...names.map(node_id => ({...earlier, node_id, has_authority: false})),
    {...earlier, node_id: 'mx9', has_authority: null},
  ];
  const warned = async (...names: string[]) =>
    (await (await start(t, {'GET /cluster/status': {data: {...clusterStatus, peers: peers(...names)}}})).run('--days', '90'))
      .stderr;

  t.regex(
    await warned('mx2'),
    /mx2 runs an earlier version: what it takes in is held as its mfd\.yaml says until it is upgraded/,
  );
  t.regex(await warned('mx2', 'mx3'), /mx2, mx3 run an earlier version: what they take in is held as their .* until they are/);
  t.is(await warned(), '');
});
