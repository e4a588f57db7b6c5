// Administration with mfctl: the built program against a built node.
import {execFile} from 'node:child_process';
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {parse} from 'yaml';
import {outputFormats} from '../../cli/output/output-format.ts';
import {heldIds, send} from '../helpers/cli/sent-mail.ts';
import {isInstalled} from '../helpers/installed.ts';
import {holdAll, startMailNode} from '../helpers/mail-node.ts';
import {mfctlFile, startNode} from '../helpers/node.ts';

test.serial('every command that reads works in every format', async t => {
  const node = await startMailNode(t, {domain: holdAll});
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
    const outputs = new Map<string, string>();
    for (const format of outputFormats) {
      const {code, stdout, stderr} = await node.mfctl([...command, '-o', format]);
      t.is(code, 0, `${command.join(' ')} -o ${format}: ${stderr}`);
      t.true(stdout.length > 0, `${command.join(' ')} -o ${format}`);
      t.false(stdout.includes(node.api_key));
      outputs.set(format, stdout);
    }

    const linesOf = (format: string): string[] => (outputs.get(format) ?? '').trimEnd().split(/\r?\n/);
    const records = linesOf('ndjson').map(line => JSON.parse(line) as object);
    const data = JSON.parse(outputs.get('json') ?? '');
    // The key was used in between, so the times differ.
    t.deepEqual(Object.keys(parse(outputs.get('yaml') ?? '')), Object.keys(data), command.join(' '));
    t.is(records.length, Array.isArray(data) ? data.length : (data.peers ?? data.groups ?? [data]).length, command.join(' '));
    t.is(linesOf('name').length, records.length, command.join(' '));
    // A domain without a retention of its own has no such member, as in 0.8.
    const columns = linesOf('csv')[0]
      ?.split(',')
      .filter(name => name !== 'retention');
    t.deepEqual(columns?.sort(), Object.keys(records[0] ?? {}).sort(), command.join(' '));
  }
});

test.serial('documents, metrics and raw requests come through', async t => {
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

test.serial('a domain is changed, filtered, signed and deleted by name', async t => {
  const node = await startMailNode(t, {domain: holdAll});

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
  const keyless = await node.mfctl(['domain', 'update', 'example.com', '--dkim']);
  const dkim = await node.mfctl(['domain', 'dkim', 'create', 'example.com', '--selector', 'mfd2026']);
  const signed = await node.mfctl(['domain', 'update', 'example.com', '--dkim']);
  const unsigned = await node.mfctl(['domain', 'dkim', 'delete', 'example.com', 'mfd2026', '--yes']);
  const wrong = await node.mfctl(['domain', 'update', 'example.com', '--quarantine-threshold', '20000', '--backend', 'nonsense']);
  const silent = await node.mfctl(['domain', 'delete', 'example.com']);
  const deleted = await node.mfctl(['domain', 'delete', 'example.com', '--yes']);
  const gone = await node.mfctl(['domain', 'get', 'example.com']);

  t.like(JSON.parse(updated.stdout), {active: false, tenant_id: 7});
  t.like(JSON.parse(cleared.stdout), {active: true, tenant_id: null});
  t.like(JSON.parse(filter.stdout), {action: 'score', score: -2.5, match: 'header', header: 'List-Id', pattern: '*x*'});
  t.deepEqual(unfiltered, {
    code: 0,
    stdout: '',
    stderr: `removed filter ${JSON.parse(filter.stdout).id}\nto add it again: mfctl domain filters add example.com --score -2.5 --header 'List-Id: *x*'\n`,
  });
  t.regex(dkim.stdout, /mfd2026\._domainkey\.example\.com\. IN TXT "v=DKIM1;/);
  t.is(unsigned.code, 0);
  for (const {stderr} of [keyless, unsigned])
    t.regex(stderr, /^warning: example\.com has no DKIM key, so its mail leaves unsigned/m);
  t.is(signed.stderr, '');
  t.is(wrong.code, 2);
  t.regex(wrong.stderr, /\n {2}--quarantine-threshold: must not be above --reject-threshold \(10000\)\n/);
  t.regex(wrong.stderr, /\n {2}--backend nonsense: must be host:port.*\nhint: mfctl domain update --help\n$/s);
  t.is(silent.code, 2);
  t.is(deleted.code, 0);
  t.is(gone.code, 5);
  t.regex(gone.stderr, /hint: mfctl domain list/);
});

test.serial('a key is made, used, refused what it may not do, and ended', async t => {
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

(isInstalled('bash') ? test.serial : test.serial.skip)(
  'a reader that closes the pipe early is no failure (needs bash)',
  async t => {
    const node = await startNode(t);
    const script = `set -o pipefail; "$0" "$1" openapi | head -1; "$0" "$1" audit -o json | true`;

    const {stdout, stderr} = await promisify(execFile)('bash', ['-c', script, process.execPath, mfctlFile], {
      env: {...process.env, XDG_CONFIG_HOME: node.xdgConfigHome},
    });

    t.regex(stdout, /^openapi: .*\n$/);
    t.is(stderr, '');
  },
);
