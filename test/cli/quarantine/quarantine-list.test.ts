import test from 'ava';
import {safeBlock} from '../../../shared/safe-text.ts';
import {mail} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

test('every filter of the API has a flag', async t => {
  const api = await startApi(t, {'GET /mail/quarantine': {data: []}});

  const {code} = await api.mfctl(
    [
      ['quarantine', 'list', '--domain', 'example.com', '--sender', '<>', '--recipient', 'a@example.com', '--subject', 'a b&c'],
      ['--since', '2026-03-01', '--until', '2026-03-02', '--min-score', '-1.5', '--max-score', '20', '--reason', 'rbl'],
      ['--from', 'bank.test', '--address', 'ceo@bank.test', '--node', 'mx1', '--limit', '5', '--offset', '10', '--strict'],
      ['--requested'],
    ].flat(),
  );

  t.is(code, 0);
  t.deepEqual(Object.fromEntries(api.requests[0]?.query ?? []), {
    domain: 'example.com',
    sender: '<>',
    from: 'bank.test',
    address: 'ceo@bank.test',
    recipient: 'a@example.com',
    subject: 'a b&c',
    since: '2026-03-01T00:00:00.000Z',
    until: '2026-03-02T00:00:00.000Z',
    min_score: '-1.5',
    max_score: '20',
    reason: 'rbl',
    node: 'mx1',
    requested: 'true',
    limit: '5',
    offset: '10',
    strict: 'true',
  });
});

test('a list is one line per mail, however hostile its subject', async t => {
  const api = await startApi(t, {'GET /mail/quarantine': {data: [mail, mail]}});

  const {stdout} = await api.mfctl(['quarantine', 'list']);

  const lines = stdout.trimEnd().split('\n');
  t.is(lines.length, 3);
  t.regex(lines[0] ?? '', /^ID +ARRIVED +SCORE +REASON +SENDER +TO +SUBJECT$/);
  t.regex(lines[1] ?? '', /^mx1\/aaaaaa +2026-03-01T09:30:00Z +12\.5 +spam +<> +a@example\.com \+1 +Win␛/);
  t.is(safeBlock(stdout), stdout);
});

test('JSON is the data of the envelope, to the byte of meaning, and safe to look at', async t => {
  const api = await startApi(t, {'GET /mail/quarantine': {data: [mail, mail]}});

  const json = await api.mfctl(['quarantine', 'list', '-o', 'json']);
  const ndjson = await api.mfctl(['quarantine', 'list'], {env: {MFCTL_OUTPUT: 'ndjson'}});

  t.deepEqual(JSON.parse(json.stdout), [mail, mail]);
  t.deepEqual(
    ndjson.stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line)),
    [mail, mail],
  );
  for (const {stdout} of [json, ndjson]) t.is(safeBlock(stdout), stdout);
});

test('a list longer than the page says how to see the next one', async t => {
  const api = await startApi(t, {'GET /mail/quarantine': {data: [mail, mail], headers: {'x-total-count': '2345'}}});

  const {stderr} = await api.mfctl(['quarantine', 'list', '--sender', '<>', '--offset', '100']);
  const quiet = await api.mfctl(['quarantine', 'list', '-q']);

  t.is(stderr, "2 of 2,345 held mails; next: mfctl quarantine list --sender '<>' --offset 102\n");
  t.is(quiet.stderr, '');
});

test('an empty list says so on standard error and is an empty array in JSON', async t => {
  const api = await startApi(t, {'GET /mail/quarantine': {data: []}});

  const table = await api.mfctl(['quarantine', 'list']);
  const json = await api.mfctl(['quarantine', 'list', '-o', 'json']);

  t.deepEqual(table, {code: 0, stdout: '', stderr: 'no held mail\n'});
  t.is(json.stdout, '[]\n');
});

test('a partial list is shown with a warning, and under --strict exits 6', async t => {
  const api = await startApi(t, {'GET /mail/quarantine': {data: [mail], headers: {'x-unreachable-nodes': 'mx2, mx3'}}});

  const lenient = await api.mfctl(['quarantine', 'list']);
  const strict = await api.mfctl(['quarantine', 'list', '--strict']);

  t.is(lenient.code, 0);
  t.regex(lenient.stderr, /^warning: the list is incomplete: mx2, mx3 did not answer/);
  t.is(strict.code, 6);
  t.regex(strict.stdout, /mx1\/aaaaaa/);
  t.regex(strict.stderr, /^error: .*mx2, mx3 did not answer \(partial_list\)\nhint: mfctl cluster status/);
});

test('a strict list that the node refuses for a silent one exits 6, a refusal without --strict 7', async t => {
  const api = await startApi(t, {
    'GET /mail/quarantine': {status: 503, error: {code: 'node_unreachable', detail: 'mx2 is away'}},
  });

  t.is((await api.mfctl(['quarantine', 'list', '--strict'])).code, 6);
  t.is((await api.mfctl(['quarantine', 'list'])).code, 7);
});

test('a summary has a row per group and the total beside it', async t => {
  const group = {
    domain: 'example.com',
    reason: 'spam',
    node_id: 'mx1',
    count: 1234,
    size_bytes: 5_242_880,
    oldest_arrived_at: mail.arrived_at,
  };
  const summary = {count: 1234, size_bytes: 5_242_880, oldest_arrived_at: mail.arrived_at, groups: [group]};
  const api = await startApi(t, {'GET /mail/quarantine/summary': {data: summary}});

  const table = await api.mfctl(['quarantine', 'summary', '--domain', 'example.com']);
  const json = await api.mfctl(['quarantine', 'summary', '-o', 'json']);

  t.regex(table.stdout, /\nexample\.com +spam +mx1 +1,234 +5\.0 MiB +2026-03-01T09:30:00Z\n$/);
  t.regex(table.stderr, /^1,234 held mails, 5\.0 MiB, the oldest from 2026-03-01T09:30:00Z\n$/);
  t.deepEqual(JSON.parse(json.stdout), summary);
});
