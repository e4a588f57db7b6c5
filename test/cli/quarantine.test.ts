import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import type {HeldMail, HeldMailDetail} from '../../shared/held-mail.ts';
import {safeBlock} from '../../shared/safe-text.ts';
import {startApi} from './scripted-api.ts';

const hostile = 'Win\x1b]0;owned\x07 \u202egnp.exe\u200b\r\nmx1/zzzzzz  \x9b31m';

const mail: HeldMail = {
  node_id: 'mx1',
  queue_id: 'aaaaaa',
  sender: '',
  recipients: ['a@example.com', 'b@example.com'],
  subject: hostile,
  score: 12.5,
  symbols: ['X'],
  reason: 'spam',
  size_bytes: 2048,
  arrived_at: '2026-03-01T09:30:00.123Z',
};

const detail: HeldMailDetail = {
  ...mail,
  domain: 'example.com',
  direction: 'inbound',
  symbol_scores: [
    {name: 'LOW', score: 1},
    {name: 'HIGH', score: 11.5},
  ],
  client_ip: '192.0.2.1',
  helo: hostile,
};

const outcome = (queue_id: string) => ({
  node_id: 'mx1',
  queue_id,
  state: 'released',
  acted_at: '2026-03-01T10:00:00.000Z',
  acted_by_key_id: 7,
  already: false,
});

test('every filter of the API has a flag', async t => {
  const api = await startApi(t, {'GET /mail/quarantine': {data: []}});

  const {code} = await api.mfctl(
    [
      ['quarantine', 'list', '--domain', 'example.com', '--sender', '<>', '--recipient', 'a@example.com', '--subject', 'a b&c'],
      ['--since', '2026-03-01', '--until', '2026-03-02', '--min-score', '-1.5', '--max-score', '20', '--reason', 'rbl'],
      ['--node', 'mx1', '--limit', '5', '--offset', '10', '--strict'],
    ].flat(),
  );

  t.is(code, 0);
  t.deepEqual(Object.fromEntries(api.requests[0]?.query ?? []), {
    domain: 'example.com',
    sender: '<>',
    recipient: 'a@example.com',
    subject: 'a b&c',
    since: '2026-03-01T00:00:00.000Z',
    until: '2026-03-02T00:00:00.000Z',
    min_score: '-1.5',
    max_score: '20',
    reason: 'rbl',
    node: 'mx1',
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
  t.regex(lines[0] ?? '', /^ID +ARRIVED +SCORE +REASON +FROM +TO +SUBJECT$/);
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

const eml = [
  'Received: from x\r\n',
  'Subject: =?utf-8?B?8J+Zgg==?= \x1b[2J\r\n',
  'Content-Type: multipart/mixed; boundary=b\r\n\r\n',
  '--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHello \x1b[31mred\r\nErrors:\r\n',
  '--b\r\nContent-Type: application/zip\r\nContent-Disposition: attachment; filename="a\u202egnp.zip"\r\nContent-Transfer-Encoding: base64\r\n\r\nUEs=\r\n--b--\r\n',
].join('');

test('show gives why a mail is held, its headers, symbols by score, attachments and text', async t => {
  const api = await startApi(t, {
    'GET /mail/quarantine/mx1/aaaaaa': {data: detail},
    'GET /mail/quarantine/mx1/aaaaaa/body': {raw: eml, headers: {'content-type': 'text/rfc822'}},
  });

  const {code, stdout} = await api.mfctl(['quarantine', 'show', 'mx1/aaaaaa']);

  t.is(code, 0);
  t.is(safeBlock(stdout), stdout);
  t.regex(stdout, /^ID: +mx1\/aaaaaa\n/);
  t.regex(stdout, /\nRecipients: +a@example\.com\n +b@example\.com\n/);
  t.regex(stdout, /\n {2}Subject: 🙂 ␛\[2J\n/);
  t.regex(stdout, /\n {2}HIGH +11\.5\n {2}LOW +1\n/);
  t.regex(stdout, /\n {2}a�gnp\.zip +application\/zip +2 B\n/);
  t.regex(stdout, /\nText:\n {2}Hello ␛\[31mred\n {2}Errors:\n$/);
});

test('show as JSON is the record with headers and attachments', async t => {
  const api = await startApi(t, {
    'GET /mail/quarantine/mx1/aaaaaa': {data: detail},
    'GET /mail/quarantine/mx1/aaaaaa/body': {raw: eml},
  });

  const {stdout} = await api.mfctl(['quarantine', 'show', 'mx1/aaaaaa', '-o', 'json']);

  const {headers, attachments, ...record} = JSON.parse(stdout);
  t.deepEqual(record, detail);
  t.deepEqual(headers[0], {name: 'Received', value: 'from x'});
  t.deepEqual(attachments, [{filename: 'a\u202egnp.zip', content_type: 'application/zip', size_bytes: 2}]);
});

test('show of a mail that is not there exits 5', async t => {
  const api = await startApi(t, {});

  const {code, stderr} = await api.mfctl(['quarantine', 'show', 'mx1/aaaaaa']);

  t.is(code, 5);
  t.regex(stderr, /\(not_found, request r-1\)\nhint: mfctl quarantine list\n$/);
});

test('body is written byte for byte, to a pipe or a file', async t => {
  const bytes = Buffer.from([...Array(256).keys()]);
  const api = await startApi(t, {'GET /mail/quarantine/mx1/aaaaaa/body': {raw: bytes}});
  const file = join(api.folder, 'mail.eml');

  const {code} = await api.mfctl(['quarantine', 'body', 'mx1/aaaaaa', '--output-file', file]);
  const piped = await api.mfctl(['quarantine', 'body', 'mx1/aaaaaa']);

  t.is(code, 0);
  t.deepEqual(await readFile(file), bytes);
  t.is(piped.stdout, bytes.toString('utf8'));
});

test('body is not written to a terminal unless forced', async t => {
  const api = await startApi(t, {'GET /mail/quarantine/mx1/aaaaaa/body': {raw: eml}});

  const refused = await api.mfctl(['quarantine', 'body', 'mx1/aaaaaa'], {columns: 80});
  const forced = await api.mfctl(['quarantine', 'body', 'mx1/aaaaaa', '--force'], {columns: 80});

  t.is(refused.code, 2);
  t.regex(refused.stderr, /hint: use --output-file FILE/);
  t.is(forced.stdout, eml);
});

test('body that is not there leaves no file', async t => {
  const api = await startApi(t, {});
  const file = join(api.folder, 'none.eml');

  const {code} = await api.mfctl(['quarantine', 'body', 'mx1/aaaaaa', '--output-file', file]);

  t.is(code, 5);
  await t.throwsAsync(readFile(file), {code: 'ENOENT'});
});

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

test('many ids go in requests of a thousand, each once', async t => {
  const echo = ({body}: {body: string}) => ({data: JSON.parse(body).items.map(({queue_id}: HeldMail) => outcome(queue_id))});
  const api = await startApi(t, {'POST /mail/quarantine/discard': echo});
  const ids = Array.from({length: 2500}, (_, at) => `mx1/${String(at).padStart(6, '0')}`);

  const {code, stdout} = await api.mfctl(['quarantine', 'discard', '-'], {input: [...ids, ...ids].join('\n')});

  t.is(code, 0);
  t.deepEqual(
    api.requests.map(({body}) => JSON.parse(body).items.length),
    [1000, 1000, 500],
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

test('when a later request fails, what was done is still told', async t => {
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
  t.is(stdout.trimEnd().split('\n').length, 1001);
  t.regex(stderr, /warning: 1 of 1,001 ids were not dealt with\nerror: too many .*\nhint: repeat it in 9 s/);
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
