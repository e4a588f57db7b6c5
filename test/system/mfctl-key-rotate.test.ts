// Key rotation in practice: the built program, a real node, contexts on the disk.
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import type {ApiKey} from '../../shared/api-key.ts';
import {startNode, type TestNode} from '../helpers/node.ts';

const keyIds = async (node: TestNode, name: string): Promise<number[]> =>
  (JSON.parse((await node.mfctl(['key', 'list', '-o', 'json'])).stdout) as ApiKey[])
    .filter(key => key.name === name)
    .map(({id}) => id);

const addContext = async (node: TestNode, name: string, key: string) =>
  node.mfctl(['context', 'add', name, '--url', node.api_url, '--cacert', node.ca_file, '--api-key-file', '-'], {input: key});

test.serial('a rotated key is good in the context that used it, and the old one is refused', async t => {
  const node = await startNode(t);
  const {stdout: old} = await node.mfctl(['key', 'create', '--name', 'ops', '--scope', 'read-only', '--rate-limit', '77', '-q']);
  await addContext(node, 'ops', old);
  const [id = 0] = await keyIds(node, 'ops');

  const rotated = await node.mfctl(['key', 'rotate', String(id), '--yes', '-o', 'json']);
  const used = await node.mfctl(['-c', 'ops', 'whoami', '-o', 'json']);
  const dead = await node.mfctl(['whoami'], {env: {MFCTL_API_KEY: old}});

  t.is(rotated.code, 0, rotated.stderr);
  const made = JSON.parse(rotated.stdout);
  t.like(made, {name: 'ops', scope: 'read-only', rate_limit_per_minute: 77, replaces: id, contexts: ['ops']});
  t.false('key' in made);
  t.like(JSON.parse(used.stdout), {id: made.id, name: 'ops'});
  t.is(dead.code, 4);
  t.regex(dead.stderr, /key_revoked/);
});

test.serial('the key in use rotates itself, in every context that has it, with an overlap too', async t => {
  const node = await startNode(t);
  await addContext(node, 'again', node.api_key);
  const [first = 0] = await keyIds(node, 'admin');

  const overlapping = await node.mfctl(['key', 'rotate', String(first), '--yes', '--overlap', '1h']);
  const both = await Promise.all([
    node.mfctl(['whoami', '-o', 'json']),
    node.mfctl(['-c', 'again', 'whoami', '-o', 'json']),
    node.mfctl(['whoami', '-o', 'json'], {env: {MFCTL_API_KEY: node.api_key}}),
  ]);
  const second = (await keyIds(node, 'admin')).find(id => id !== first) ?? 0;
  const atOnce = await node.mfctl([
    'key',
    'rotate',
    String(second),
    '--yes',
    '--key-file',
    join(node.xdgConfigHome, 'admin.key'),
  ]);
  const last = await node.mfctl(['-c', 'again', 'whoami', '-o', 'json']);

  t.is(overlapping.code, 0, overlapping.stderr);
  t.deepEqual(
    both.map(({stdout}) => JSON.parse(stdout).id),
    [second, second, first],
  );
  t.true(Date.parse(JSON.parse(both[2]?.stdout ?? '').expires_at) > Date.now());
  t.is(atOnce.code, 0, atOnce.stderr);
  t.is(last.code, 0);
  const keys = await readFile(join(node.xdgConfigHome, 'mfctl', 'keys.yaml'), 'utf8');
  const kept = (await readFile(join(node.xdgConfigHome, 'admin.key'), 'utf8')).trim();
  t.is(keys.split(kept).length, 3);
  for (const {stdout, stderr} of [overlapping, atOnce]) t.false(/mfk_\w{38}/.test(stdout + stderr));
});

test.serial('a domain-admin key keeps its domain', async t => {
  const node = await startNode(t);
  await node.mfctl(['domain', 'create', 'example.com', '--backend', 'b.example:25']);
  await node.mfctl(['key', 'create', '--name', 'owner', '--scope', 'domain-admin', '--domain', 'example.com', '-q']);
  const [id = 0] = await keyIds(node, 'owner');

  const {code, stdout, stderr} = await node.mfctl(['key', 'rotate', String(id), '--yes']);

  t.is(code, 0, stderr);
  t.regex(stdout, /Domains: +example\.com\n/);
  t.regex(stdout, /Key: +mfk_\w{38}\n/);
});
