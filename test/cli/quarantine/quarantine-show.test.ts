import {readdir, readFile, stat, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import type {AuditEntry} from '../../../shared/audit-entry.ts';
import {safeBlock} from '../../../shared/safe-text.ts';
import {auditEntry} from '../../helpers/cli/sample-answers.ts';
import {detail, hostile} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

const eml = [
  'Received: from x\r\n',
  'Subject: =?utf-8?B?8J+Zgg==?= \x1b[2J\r\n',
  'Content-Type: multipart/mixed; boundary=b\r\n\r\n',
  '--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHello \x1b[31mred\r\nErrors:\r\n',
  '--b\r\nContent-Type: application/zip\r\nContent-Disposition: attachment; filename="a\u202egnp.zip"\r\nContent-Transfer-Encoding: base64\r\n\r\nUEs=\r\n--b--\r\n',
].join('');

test('show gives why a mail is held, its headers, symbols by score, attachments and text', async t => {
  const released = {address: hostile, state: 'released', acted_at: '2026-03-01T10:00:00.000Z', acted_by: 7};
  const api = await startApi(t, {
    'GET /mail/quarantine/mx1/aaaaaa': {data: {...detail, recipient_states: [...(detail.recipient_states ?? []), released]}},
    'GET /mail/quarantine/mx1/aaaaaa/body': {raw: eml, headers: {'content-type': 'text/rfc822'}},
  });

  const {code, stdout} = await api.mfctl(['quarantine', 'show', 'mx1/aaaaaa']);

  t.is(code, 0);
  t.is(safeBlock(stdout), stdout);
  t.regex(stdout, /^ID: +mx1\/aaaaaa\n/);
  t.regex(
    stdout,
    /\nRecipients: +a@example\.com\n +b@example\.com\n +Win[^\n]* \(released 2026-03-01T10:00:00Z by key 7\)\n[^ ]/,
  );
  t.regex(stdout, /\n {2}Subject: 🙂 ␛\[2J\n/);
  t.regex(stdout, /\n {2}HIGH +11\.5\n {2}LOW +1\n/);
  t.regex(stdout, /\n {2}a�gnp\.zip +application\/zip +2 B\n/);
  t.regex(stdout, /\nText:\n {2}Hello ␛\[31mred\n {2}Errors:\n$/);
});

test('show says where the links of HTML go, beside the text that stands for it, and in one safe line each', async t => {
  const html = '<a href="https://evil.example/\x1b[2J&#27;]&#x202e;">click\x1b[2J\r\nNode: mx1</a>';
  const raw = [
    'Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nHello\r\n',
    `--b\r\nContent-Type: text/html\r\n\r\n${html}\r\n--b--\r\n`,
  ].join('');
  const api = await startApi(t, {
    'GET /mail/quarantine/mx1/aaaaaa': {data: detail},
    'GET /mail/quarantine/mx1/aaaaaa/body': {raw},
  });

  const {stdout} = await api.mfctl(['quarantine', 'show', 'mx1/aaaaaa']);

  t.is(safeBlock(stdout), stdout);
  t.regex(stdout, /\nText:\n {2}Hello\n\nLinks:\n {2}click␛\[2J Node: mx1 → https:\/\/evil\.example\/%1B\[2J%1B\]%E2%80%AE\n$/);
});

test('no name of an attachment is so long that it makes its table long', async t => {
  const part = (name: string) => `--b\r\nContent-Type: application/zip; name="${name}"\r\n\r\nx\r\n`;
  const parts = [part('a.zip'), part('x'.repeat(50_000)), ...Array.from({length: 300}, () => part('b.zip'))];
  const api = await startApi(t, {
    'GET /mail/quarantine/mx1/aaaaaa': {data: detail},
    'GET /mail/quarantine/mx1/aaaaaa/body': {
      raw: `Content-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--\r\n`,
    },
  });

  const {stdout} = await api.mfctl(['quarantine', 'show', 'mx1/aaaaaa']);

  t.regex(stdout, /\n {2}x{254}… +application\/zip +\d B\n/);
  t.true(stdout.length < 200_000);
});

test('on a terminal, what a mail says never begins a line', async t => {
  const subject = `${'x'.repeat(100)}Reason: none`;
  const api = await startApi(t, {
    'GET /mail/quarantine/mx1/aaaaaa': {data: {...detail, subject}},
    'GET /mail/quarantine/mx1/aaaaaa/body': {raw: `Subject: ${subject}\r\n\r\n\t${subject}\r\n`},
  });

  const {stdout} = await api.mfctl(['quarantine', 'show', 'mx1/aaaaaa'], {columns: 50});

  t.regex(stdout, /\nSubject: {5}x{37}\n {13}x{37}\n {13}x{26}Reason: non\n {13}e\nClient: /);
  for (const line of stdout.split('\n')) t.true(line.length <= 50);
  t.false(stdout.includes('\t'));
});

const looked = {...auditEntry, at: '2026-03-01T10:00:00.000Z', key_name: 'desk', action: 'quarantine.body', detail: ''};
const released = {
  ...auditEntry,
  at: '2026-03-01T11:00:00.000Z',
  key_id: null,
  key_name: null,
  action: 'quarantine.release',
  result: 'delivery_failed',
  detail: `b@example.com: 550 no \x1b[2J\r\nID: mx1/bbbbbb`,
};

test('show has the history of the mail, oldest first, as it was before this look at it', async t => {
  const api = await startApi(t, {
    'GET /mail/quarantine/mx1/aaaaaa': {data: detail},
    'GET /mail/quarantine/mx1/aaaaaa/body': {raw: eml},
    'GET /audit': {data: [released, looked]},
  });

  const {stdout, stderr} = await api.mfctl(['quarantine', 'show', 'mx1/aaaaaa']);

  const [, history = ''] = /\nHistory:\n((?: {2}.*\n)+)/.exec(stdout) ?? [];
  t.deepEqual(
    history
      .trimEnd()
      .split('\n')
      .map(line => line.trim().split(/ {2,}/)),
    [
      ['AT', 'ACTION', 'BY', 'RESULT', 'DETAIL'],
      ['2026-03-01T09:30:00Z', 'held', 'node', 'ok', 'spam, score 12.5'],
      ['2026-03-01T10:00:00Z', 'body', 'desk', 'ok', '-'],
      ['2026-03-01T11:00:00Z', 'release', 'node', 'delivery_failed', 'b@example.com: 550 no ␛[2J ID: mx1/bbbbbb'],
    ],
  );
  t.is(stderr, '');
  t.deepEqual(
    api.requests.map(({path}) => path),
    ['/mail/quarantine/mx1/aaaaaa', '/audit', '/mail/quarantine/mx1/aaaaaa/body'],
  );
});

test('show says that the key may not read the history, and why it could not be read otherwise', async t => {
  const shown = async (answer: Reply) => {
    const api = await startApi(t, {
      'GET /mail/quarantine/mx1/aaaaaa': {data: detail},
      'GET /mail/quarantine/mx1/aaaaaa/body': {raw: eml},
      'GET /audit': answer,
    });
    return {
      ...(await api.mfctl(['quarantine', 'show', 'mx1/aaaaaa'])),
      json: await api.mfctl(['quarantine', 'show', 'mx1/aaaaaa', '-o', 'json']),
    };
  };

  const denied = await shown({status: 403, error: {code: 'insufficient_scope', detail: 'why'}});
  const silent = await shown({data: [], headers: {'x-unreachable-nodes': 'mx1'}});
  const others = await shown({data: [], headers: {'x-unreachable-nodes': 'mx2'}});

  t.deepEqual([denied.code, denied.stderr], [0, '']);
  t.regex(denied.stdout, /\nHistory:\n {2}not with this key: the audit log takes one of scope read-only or full-admin\n/);
  t.is(JSON.parse(denied.json.stdout).history, null);
  t.is(silent.code, 0);
  t.regex(silent.stderr, /no history: node mx1 did not answer/);
  t.false(silent.stdout.includes('History'));
  t.is(JSON.parse(silent.json.stdout).history, null);
  t.regex(others.stdout, /\nHistory:\n/);
  t.is(others.stderr, '');
});

test('show as JSON is the record with headers and attachments', async t => {
  const api = await startApi(t, {
    'GET /mail/quarantine/mx1/aaaaaa': {data: detail},
    'GET /mail/quarantine/mx1/aaaaaa/body': {raw: eml},
    'GET /audit': {data: [released, looked]},
  });

  const {stdout} = await api.mfctl(['quarantine', 'show', 'mx1/aaaaaa', '-o', 'json']);

  const {headers, attachments, history, ...record} = JSON.parse(stdout);
  t.deepEqual(record, detail);
  t.deepEqual(history, [looked, released]);
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

test('body is not written over a file that exists unless forced, and a mail that cannot be had never', async t => {
  const api = await startApi(t, {'GET /mail/quarantine/mx1/aaaaaa/body': {raw: eml}});
  const file = join(api.folder, 'mfd.yaml');
  await writeFile(file, 'node_id: mx1\n');
  const body = ['quarantine', 'body', 'mx1/aaaaaa', '--output-file', file];

  const refused = await api.mfctl(body);
  const absent = await api.mfctl(['quarantine', 'body', 'mx1/bbbbbb', '--output-file', file, '--force']);
  const kept = await readFile(file, 'utf8');
  const asked = api.requests.filter(({path}) => path.includes('/aaaaaa/')).length;
  const forced = await api.mfctl([...body, '--force']);

  t.is(refused.code, 1);
  t.is(
    refused.stderr,
    `error: cannot write ${file}: it exists already (file_failed)\nhint: choose another name, or repeat with --force\n`,
  );
  t.is(asked, 0);
  t.is(absent.code, 5);
  t.is(kept, 'node_id: mx1\n');
  t.is(forced.code, 0);
  t.is(await readFile(file, 'utf8'), eml);
  t.deepEqual(
    (await readdir(api.folder)).filter(name => name.startsWith('mfd.yaml')),
    ['mfd.yaml'],
  );
});

test('body goes to a device without a question, as that holds nothing', async t => {
  const api = await startApi(t, {'GET /mail/quarantine/mx1/aaaaaa/body': {raw: eml}});

  t.is((await api.mfctl(['quarantine', 'body', 'mx1/aaaaaa', '--output-file', '/dev/null'])).code, 0);
  t.is((await api.mfctl(['quarantine', 'body', 'mx1/aaaaaa', '--output-file', '/dev/null', '--force'])).code, 0);
  t.true((await stat('/dev/null')).isCharacterDevice());
});

const ending = {
  ...{node_id: 'mx1', seq: 9, at: '2026-11-26T12:30:05.123Z', key_id: 3, key_name: 'helpdesk', action: 'quarantine.release'},
  ...{target: 'mx1/aaaaaa', remote_address: '192.0.2.9', result: 'ok', detail: 'asked through mx2', hash: 'h'},
};

test('show of a mail that has ended says how, when and by whom, from the audit log', async t => {
  const failed = {...ending, seq: 10, key_name: 'other', result: 'delivery_failed'};
  const log: AuditEntry[] = [failed, {...ending, seq: 11, target: 'mx1/aaaaaaa'}, ending];
  const api = await startApi(t, {
    'GET /audit': ({query}) => ({data: log.filter(({target}) => target === query.get('target'))}),
  });
  const show = () => api.mfctl(['quarantine', 'show', 'mx1/aaaaaa']);

  const released = await show();
  log.splice(0, 3, {...ending, action: 'quarantine.discard', key_name: null, detail: ''});
  const discarded = await show();
  log.splice(0, 1, {...ending, action: 'quarantine.expire', key_id: null, key_name: null, remote_address: null, detail: ''});
  const expired = await show();

  t.is(released.code, 5);
  t.is(
    released.stderr,
    'error: mx1/aaaaaa was released at 2026-11-26T12:30:05Z with the key helpdesk from 192.0.2.9 via mx2 (not_found, request r-1)\nhint: mfctl audit --target mx1/aaaaaa\n',
  );
  t.regex(discarded.stderr, /^error: mx1\/aaaaaa was discarded at \S+ with key 3, deleted since from 192\.0\.2\.9 \(/);
  t.regex(expired.stderr, /^error: mx1\/aaaaaa was removed when its time was over at 2026-11-26T12:30:05Z by the node itself \(/);
});

test('body, allow and block of a mail that has ended say how, when and by whom, too', async t => {
  const api = await startApi(t, {
    'GET /audit': {data: [ending]},
    'GET /auth/me': {data: {scope: 'full-admin', permissions: ['domains:write', 'cluster:write'], domains: null}},
  });

  for (const words of [['body'], ['body', '--output-file', '/dev/null'], ['allow'], ['block']]) {
    const {code, stderr} = await api.mfctl(['quarantine', ...words, 'mx1/aaaaaa']);

    t.is(code, 5);
    t.regex(stderr, /^error: mx1\/aaaaaa was released at 2026-11-26T12:30:05Z with the key helpdesk from 192\.0\.2\.9/);
  }
});

test('a key that may not read the audit log is told only that the mail is not held', async t => {
  const api = await startApi(t, {
    'GET /audit': {status: 403, error: {code: 'insufficient_scope', detail: 'no'}},
  });

  const {code, stderr} = await api.mfctl(['quarantine', 'show', 'mx1/aaaaaa']);

  t.is(code, 5);
  t.is(stderr, 'error: no /mail/quarantine/mx1/aaaaaa (not_found, request r-1)\nhint: mfctl quarantine list\n');
});
