import test from 'ava';
import type {HeldMail} from '../../../shared/held-mail.ts';
import {detail, hostile, outcome} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

test('one id goes to the single action', async t => {
  const api = await startApi(t, {'POST /mail/quarantine/mx1/aaaaaa/release': {data: outcome('aaaaaa')}});

  const {code, stdout} = await api.mfctl(['quarantine', 'release', 'mx1/aaaaaa']);

  t.is(code, 0);
  t.regex(stdout, /\nmx1\/aaaaaa +released +2026-03-01T10:00:00Z +7 +-\n$/);
});

test('one id that is not there exits 5, one that cannot be delivered names each recipient', async t => {
  const fields = [{path: 'a@example.com', detail: '550 no such user'}];
  const api = await startApi(t, {
    'POST /mail/quarantine/mx1/bbbbbb/release': {status: 502, error: {code: 'delivery_failed', detail: 'refused', fields}},
  });

  const absent = await api.mfctl(['quarantine', 'release', 'mx1/aaaaaa']);
  const refused = await api.mfctl(['quarantine', 'release', 'mx1/bbbbbb']);

  t.is(absent.code, 5);
  t.is(refused.code, 1);
  t.regex(refused.stderr, /\n {2}a@example\.com: 550 no such user\nhint: the mail is still held/);
});

test('with --only the node is asked for these recipients, if it knows that a mail has some', async t => {
  const [detailPath, path] = ['GET /mail/quarantine/mx1/aaaaaa', 'POST /mail/quarantine/discard'];
  const args = ['quarantine', 'discard', 'mx1/aaaaaa', '--only', 'a@example.com', '--only', 'b@example.com'];
  const failing = (code: string, fields?: object) => ({
    data: [{node_id: 'mx1', queue_id: 'aaaaaa', error: {code, detail: 'nothing was done', ...(fields && {fields})}}],
  });
  const api = await startApi(t, {[detailPath]: {data: detail}, [path]: {data: [outcome('aaaaaa')]}});
  const {recipient_states: _, ...earlier} = detail;
  const before = await startApi(t, {[detailPath]: {data: earlier}, [path]: {data: [outcome('aaaaaa')]}});
  const fields = [{path: 'recipients.1', detail: 'b@example.com is no recipient of this mail'}];
  const unknown = await startApi(t, {[detailPath]: {data: detail}, [path]: failing('validation_failed', fields)});
  const ended = await startApi(t, {[path]: {data: [{...outcome('aaaaaa'), already: true}]}});

  const dry = await api.mfctl([...args, '--dry-run']);
  t.regex(dry.stderr, /nothing was changed, the mail would be discarded for a@example\.com and b@example\.com alone/);
  t.is((await api.mfctl(args)).code, 0);
  t.deepEqual(
    api.requests.flatMap(({body}) => (body ? [JSON.parse(body)] : [])),
    [{items: [{node_id: 'mx1', queue_id: 'aaaaaa', recipients: ['a@example.com', 'b@example.com']}]}],
  );
  const refused = await before.mfctl(args);
  t.is(refused.code, 1);
  t.regex(refused.stderr, /a node runs an earlier version, which acts for all recipients of mx1\/aaaaaa; nothing was done/);
  t.true(before.requests.every(({method}) => method === 'GET'));
  const typed = await unknown.mfctl(args);
  t.is(typed.code, 2);
  t.regex(typed.stderr, /--only b@example\.com: b@example\.com is no recipient of this mail/);
  t.is((await ended.mfctl(args)).code, 0);
  for (const [code, exit] of [
    ['not_found', 5],
    ['conflict', 1],
    ['unavailable', 7],
  ] as const) {
    const failed = await startApi(t, {[path]: failing(code)});
    t.is((await failed.mfctl(args)).code, exit, code);
  }
});

test('--only goes with one mail, named by its id', async t => {
  const api = await startApi(t, {});

  for (const ids of [['mx1/aaaaaa', 'mx1/bbbbbb'], ['-'], ['--all-matching', '--sender', 'x.test'], []]) {
    const {code, stderr} = await api.mfctl(['quarantine', 'release', ...ids, '--only', 'a@example.com'], {input: 'mx1/aaaaaa\n'});
    t.is(code, 2, stderr);
    t.regex(stderr, /--only goes with the id of one mail/);
  }
  t.deepEqual(api.requests, []);
});

test('many ids go in several requests of a thousand at most, each once', async t => {
  const echo = ({body}: {body: string}) => ({data: JSON.parse(body).items.map(({queue_id}: HeldMail) => outcome(queue_id))});
  const api = await startApi(t, {'POST /mail/quarantine/discard': echo});
  const ids = Array.from({length: 2500}, (_, at) => `mx1/${String(at).padStart(6, '0')}`);

  const {code, stdout} = await api.mfctl(['quarantine', 'discard', '-'], {input: [...ids, ...ids].join('\n')});

  t.is(code, 0);
  const asked = api.requests.map(({body}) => JSON.parse(body).items as HeldMail[]);
  t.true(asked.every(({length}) => length <= 1000) && asked.length > 2);
  t.deepEqual(
    asked.flat().map(({node_id, queue_id}) => `${node_id}/${queue_id}`),
    ids,
  );
  t.is(stdout.trimEnd().split('\n').length, 2501);
});

test('some failures among many exit 6 and are named on standard error', async t => {
  const failed = {node_id: 'mx1', queue_id: 'bbbbbb', error: {code: 'not_found', detail: `gone${hostile}`}};
  const api = await startApi(t, {'POST /mail/quarantine/release': {data: [outcome('aaaaaa'), failed]}});

  const table = await api.mfctl(['quarantine', 'release', 'mx1/aaaaaa', 'mx1/bbbbbb']);
  const json = await api.mfctl(['quarantine', 'release', 'mx1/aaaaaa', 'mx1/bbbbbb', '-o', 'json']);

  t.is(table.code, 6);
  t.is(table.stdout.trimEnd().split('\n').length, 2);
  t.regex(
    table.stderr,
    /^warning: mx1\/bbbbbb: gone.*\(not_found\)\nerror: 1 of 2 mails could not be released \(partial_failure\)\n/,
  );
  t.is(json.code, 6);
  t.deepEqual(JSON.parse(json.stdout), [outcome('aaaaaa'), failed]);
});

test('when a later request fails, what was done is still reported', async t => {
  let calls = 0;
  const api = await startApi(t, {
    'POST /mail/quarantine/release': ({body}) => {
      calls += 1;
      if (calls > 1) return {status: 429, headers: {'retry-after': '9'}, error: {code: 'rate_limited', detail: 'too many'}};
      return {data: JSON.parse(body).items.map(({queue_id}: HeldMail) => outcome(queue_id))};
    },
  });
  const ids = Array.from({length: 1001}, (_, at) => `mx1/${String(at).padStart(6, '0')}`);

  const {code, stdout, stderr} = await api.mfctl(['quarantine', 'release', ...ids]);

  t.is(code, 7);
  t.is(stdout.trimEnd().split('\n').length, 101);
  t.regex(stderr, /warning: 901 of 1,001 mails were not processed\nerror: too many .*\nhint: repeat it in 9 s/);
});

test('no ids on standard input is nothing to do', async t => {
  const api = await startApi(t, {});

  const {code, stderr} = await api.mfctl(['quarantine', 'release', '-'], {input: '\n'});

  t.is(code, 0);
  t.regex(stderr, /nothing to release/);
  t.is(api.requests.length, 0);
});

test('one wrong id among many stops before anything is done', async t => {
  const api = await startApi(t, {});

  const {code} = await api.mfctl(['quarantine', 'discard', 'mx1/aaaaaa', 'mx1/../../domains/1']);

  t.is(code, 2);
  t.is(api.requests.length, 0);
});
