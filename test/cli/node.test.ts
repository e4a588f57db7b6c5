// mfctl as people run it: the built program against a built node.
import {execFile} from 'node:child_process';
import {existsSync} from 'node:fs';
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {promisify} from 'node:util';
import test, {type ExecutionContext} from 'ava';
import {safeBlock} from '../../shared/safe-text.ts';
import {mfctlFile, startNode, type TestNode} from '../helpers/node.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {type SmtpSink, startSmtpSink} from '../helpers/smtp-sink.ts';

const samples = join(import.meta.dirname, '../../../shared/mail');

/** A node with a domain whose mail is all held, and the server behind it. */
const startHoldingNode = async (t: ExecutionContext): Promise<{node: TestNode; sink: SmtpSink}> => {
  const [node, sink] = await Promise.all([startNode(t), startSmtpSink(t, {hasUtf8: true})]);
  const backend = `${sink.server.host}:${sink.server.port}`;
  const thresholds = ['--quarantine-threshold', '-1000', '--reject-threshold', '10000'];
  const {code, stderr} = await node.mfctl(['domain', 'create', 'example.com', '--backend', backend, ...thresholds]);
  if (code !== 0) throw new Error(stderr);
  return {node, sink};
};

const send = (node: TestNode, raw: string | Buffer, parameters?: string) =>
  sendMail({
    port: node.smtpPort,
    from: 'sender@sender.example',
    to: ['a@example.com', 'b@example.com'],
    raw,
    ...(parameters !== undefined && {parameters}),
  });

const heldIds = async (node: TestNode): Promise<string[]> => {
  const {stdout} = await node.mfctl(['quarantine', 'list', '--limit', '1000']);
  return stdout
    .split('\n')
    .slice(1)
    .flatMap(line => line.split(' ', 1))
    .filter(id => id !== '');
};

test('a first session: a domain, a mail, a look at it, its release', async t => {
  const {node, sink} = await startHoldingNode(t);
  await send(node, 'Subject: =?utf-8?Q?caf=C3=A9?=\r\nX-One: 1\r\n\r\nHello there\r\n');

  const list = await node.mfctl(['quarantine', 'list', '--domain', 'example.com', '--since', '1h']);
  const [id = ''] = await heldIds(node);
  const show = await node.mfctl(['quarantine', 'show', id]);
  const body = await node.mfctl(['quarantine', 'body', id]);
  const summary = await node.mfctl(['quarantine', 'summary', '-o', 'json']);
  const released = await node.mfctl(['quarantine', 'release', id]);
  const again = await node.mfctl(['quarantine', 'release', id, '-o', 'json']);
  const opposite = await node.mfctl(['quarantine', 'discard', id]);
  const audit = await node.mfctl(['audit', '--action', 'quarantine.release']);

  t.regex(list.stdout, /café/);
  t.regex(show.stdout, /\n {2}Subject: café\n {2}X-One: 1\n/);
  t.regex(show.stdout, /\nText:\n {2}Hello there\n/);
  t.true(body.stdout.endsWith('X-One: 1\r\n\r\nHello there\r\n'));
  t.like(JSON.parse(summary.stdout), {count: 1});
  t.regex(released.stdout, /released/);
  t.is(sink.mails.length, 1);
  t.like(JSON.parse(again.stdout), {state: 'released', already: true});
  t.is(opposite.code, 1);
  t.regex(opposite.stderr, /\(conflict, request /);
  t.true(audit.stdout.includes(id));
});

test('every command that reads works in every format', async t => {
  const {node} = await startHoldingNode(t);
  await send(node, 'Subject: one\r\n\r\ntext\r\n');
  const [id = ''] = await heldIds(node);
  await node.mfctl(['domain', 'filters', 'add', 'example.com', '--allow', '--sender', 'boss@example.org']);
  await node.mfctl(['domain', 'dkim', 'create', 'example.com', '--selector', 's1', '--algorithm', 'ed25519']);
  const commands = [
    ['whoami'],
    ['context', 'list'],
    ['key', 'list'],
    ['domain', 'list'],
    ['domain', 'get', 'example.com'],
    ['domain', 'filters', 'list', 'example.com'],
    ['domain', 'dkim', 'list', 'example.com'],
    ['quarantine', 'list'],
    ['quarantine', 'show', id],
    ['quarantine', 'summary'],
    ['cluster', 'status'],
    ['audit'],
  ];

  for (const command of commands) {
    const [table, json, ndjson] = await Promise.all(
      ['table', 'json', 'ndjson'].map(format => node.mfctl([...command, '-o', format])),
    );

    t.deepEqual([table?.code, json?.code, ndjson?.code], [0, 0, 0], command.join(' '));
    t.true((table?.stdout ?? '').length > 0, command.join(' '));
    const data: unknown = JSON.parse(json?.stdout ?? '');
    const lines = (ndjson?.stdout ?? '')
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as unknown);
    t.is(lines.length, Array.isArray(data) ? data.length : 1, command.join(' '));
    for (const stdout of [table, json, ndjson].map(ran => ran?.stdout)) t.false(stdout?.includes(node.api_key));
  }
});

test('documents, metrics and raw requests come through', async t => {
  const node = await startNode(t);

  const openapi = await node.mfctl(['openapi']);
  const metrics = await node.mfctl(['metrics']);
  const api = await node.mfctl(['api', 'GET', '/auth/me']);
  const created = await node.mfctl(['api', 'POST', '/domains', '--data', '-'], {
    input: '{"name":"a.example","backend_servers":["b.example:25"]}',
  });

  t.regex(openapi.stdout, /^openapi: 3\.1/);
  t.regex(metrics.stdout, /^mfd_cluster_nodes/m);
  t.like(JSON.parse(api.stdout), {name: 'admin', scope: 'full-admin'});
  t.like(JSON.parse(created.stdout), {name: 'a.example'});
});

test('a domain is changed, filtered, signed and deleted by name', async t => {
  const {node} = await startHoldingNode(t);

  const updated = await node.mfctl(['domain', 'update', 'EXAMPLE.com', '--inactive', '--tenant-id', '7', '-o', 'json']);
  const cleared = await node.mfctl(['domain', 'update', 'example.com', '--active', '--no-tenant-id', '-o', 'json']);
  const filter = await node.mfctl([
    'domain',
    'filters',
    'add',
    'example.com',
    '--score',
    '-2.5',
    '--header',
    'List-Id: *x*',
    '-o',
    'json',
  ]);
  const unfiltered = await node.mfctl(['domain', 'filters', 'remove', 'example.com', String(JSON.parse(filter.stdout).id)]);
  const dkim = await node.mfctl(['domain', 'dkim', 'create', 'example.com', '--selector', 'mfd2026']);
  const unsigned = await node.mfctl(['domain', 'dkim', 'delete', 'example.com', 'mfd2026']);
  const wrong = await node.mfctl(['domain', 'update', 'example.com', '--quarantine-threshold', '20000', '--backend', 'nonsense']);
  const silent = await node.mfctl(['domain', 'delete', 'example.com']);
  const deleted = await node.mfctl(['domain', 'delete', 'example.com', '--yes']);
  const gone = await node.mfctl(['domain', 'get', 'example.com']);

  t.like(JSON.parse(updated.stdout), {active: false, tenant_id: 7});
  t.like(JSON.parse(cleared.stdout), {active: true, tenant_id: null});
  t.like(JSON.parse(filter.stdout), {action: 'score', score: -2.5, match: 'header', header: 'List-Id', pattern: '*x*'});
  t.is(unfiltered.code, 0);
  t.regex(dkim.stdout, /mfd2026\._domainkey\.example\.com\. IN TXT "v=DKIM1;/);
  t.is(unsigned.code, 0);
  t.is(wrong.code, 1);
  t.regex(wrong.stderr, /\n {2}quarantine_threshold: .*/);
  t.regex(wrong.stderr, /\n {2}backend_servers.*\nhint: mfctl domain update --help\n$/s);
  t.is(silent.code, 2);
  t.is(deleted.code, 0);
  t.is(gone.code, 5);
  t.regex(gone.stderr, /hint: mfctl domain list/);
});

test('a key is made, used, refused what it may not do, and ended', async t => {
  const node = await startNode(t);
  const file = join(node.xdgConfigHome, 'reader.key');

  const created = await node.mfctl([
    'key',
    'create',
    '--name',
    'reader',
    '--scope',
    'read-only',
    '--key-file',
    file,
    '-o',
    'json',
  ]);
  const {id} = JSON.parse(created.stdout);
  const used = await node.mfctl(['whoami', '--api-key-file', file]);
  const refused = await node.mfctl(['domain', 'create', 'a.example', '--backend', 'b:25', '--api-key-file', file]);
  const revoked = await node.mfctl(['key', 'revoke', String(id), '--yes']);
  const dead = await node.mfctl(['whoami', '--api-key-file', file, '-o', 'json']);
  const deleted = await node.mfctl(['key', 'delete', String(id), '--yes']);
  const last = await node.mfctl([
    'key',
    'revoke',
    String(JSON.parse((await node.mfctl(['whoami', '-o', 'json'])).stdout).id),
    '--yes',
  ]);

  t.false(created.stdout.includes((await readFile(file, 'utf8')).trim()));
  t.regex(used.stdout, /Name: +reader/);
  t.is(refused.code, 4);
  t.regex(refused.stderr, /\(insufficient_scope, request \w+\)\nhint: mfctl whoami/);
  t.is(revoked.code, 0);
  t.is(dead.code, 4);
  t.like(JSON.parse(dead.stderr), {error: {code: 'key_revoked', exit_code: 4}});
  t.is(deleted.code, 0);
  t.is(last.code, 1);
  t.regex(last.stderr, /\(conflict, .*\nhint: .*--force/);
});

test('many ids from a list are discarded, and those that are not there exit 6', async t => {
  const {node} = await startHoldingNode(t);
  for (const subject of ['one', 'two', 'three']) await send(node, `Subject: ${subject}\r\n\r\ntext\r\n`);
  const {stdout: list} = await node.mfctl(['quarantine', 'list']);
  const [first = ''] = await heldIds(node);
  const absent = `${node.node_id}/zzzzzzzzzz`;

  const partly = await node.mfctl(['quarantine', 'discard', first, absent]);
  const all = await node.mfctl(['quarantine', 'discard', '-', '-o', 'ndjson'], {input: list});
  const alone = await node.mfctl(['quarantine', 'discard', absent]);
  const elsewhere = await node.mfctl(['quarantine', 'discard', 'nosuchnode/zzzzzzzzzz']);

  t.is(partly.code, 6);
  t.true(partly.stdout.includes(first) && !partly.stdout.includes(absent));
  t.regex(partly.stderr, new RegExp(`warning: ${absent}: .*\\(not_found\\)\nerror: 1 of 2 mails could not be discarded`));
  t.is(all.code, 0);
  t.deepEqual(
    all.stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).state),
    ['discarded', 'discarded', 'discarded'],
  );
  t.deepEqual([alone.code, elsewhere.code], [5, 5]);
  t.deepEqual(await heldIds(node), []);
});

test('a node that is away, or allows no more requests, exits 7', async t => {
  const node = await startNode(t);
  const {stdout: key} = await node.mfctl(['key', 'create', '--name', 'slow', '--scope', 'read-only', '--rate-limit', '1', '-q']);
  const env = {MFCTL_API_KEY: key};
  await node.mfctl(['whoami'], {env});

  const limited = await node.mfctl(['whoami'], {env});
  await node.stop();
  const away = await node.mfctl(['whoami']);

  t.is(limited.code, 7);
  t.regex(limited.stderr, /\(rate_limited, .*\nhint: repeat it in \d+ s\n$/);
  t.is(away.code, 7);
  t.regex(away.stderr, /^error: cannot reach .*: nothing listens there \(unreachable\)\nhint: .*mfd start/);
});

test('a certificate nobody vouches for is refused with a hint, before the key is sent', async t => {
  const node = await startNode(t);

  const {code, stderr} = await node.mfctl(['whoami'], {
    env: {XDG_CONFIG_HOME: join(node.xdgConfigHome, 'other'), MFCTL_URL: node.api_url, MFCTL_API_KEY: node.api_key},
  });

  t.is(code, 7);
  t.regex(stderr, /\(tls_untrusted\)\nhint: .*--cacert/);
});

test('a reader that closes the pipe early is no failure', async t => {
  const node = await startNode(t);
  const script = `set -o pipefail; "$0" "$1" openapi | head -1; "$0" "$1" audit -o json | true`;

  const {stdout, stderr} = await promisify(execFile)('bash', ['-c', script, process.execPath, mfctlFile], {
    env: {...process.env, XDG_CONFIG_HOME: node.xdgConfigHome},
  });

  t.regex(stdout, /^openapi: .*\n$/);
  t.is(stderr, '');
});

test('hostile mail reaches a terminal as plain text and a script as it was', async t => {
  const {node} = await startHoldingNode(t);
  const subject = '\x1b]0;owned\x07\x1b[2J \u202egnp.exe \u200b\u009b31m';
  await send(
    node,
    Buffer.from(`Subject: ${subject}\r\nX-\x1bEvil: \x1b[31m\r\n\r\n\x1b[31mtext\x07\r\n`),
    'BODY=8BITMIME SMTPUTF8',
  );
  const [id = ''] = await heldIds(node);

  const runs = await Promise.all(
    [
      ['quarantine', 'list'],
      ['quarantine', 'show', id],
      ['quarantine', 'list', '-o', 'json'],
      ['quarantine', 'show', id, '-o', 'json'],
    ].map(command => node.mfctl(command)),
  );

  for (const {code, stdout} of runs) {
    t.is(code, 0);
    t.is(safeBlock(stdout), stdout);
  }
  const [record] = JSON.parse(runs[2]?.stdout ?? '');
  t.true(record.subject.includes('\u202egnp.exe'));
});

(existsSync(samples) ? test : test.skip)('every sample mail can be shown', async t => {
  const {node} = await startHoldingNode(t);
  const names = (await readdir(samples)).filter(name => name.endsWith('.eml'));
  for (const name of names) {
    const text = (await readFile(join(samples, name), 'latin1')).replace(/\r?\n/g, '\r\n');
    const {reply} = await send(node, Buffer.from(text, 'latin1'));
    t.is(reply.code, 250, name);
  }
  const ids = await heldIds(node);

  for (const id of ids) {
    const {code, stdout, stderr} = await node.mfctl(['quarantine', 'show', id]);

    t.is(code, 0);
    t.is(stderr, '');
    t.is(safeBlock(stdout), stdout);
  }
  t.is(ids.length, names.length);
});
