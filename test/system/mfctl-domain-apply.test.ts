// Domain files between two real clusters, applied by the built program.
import test from 'ava';
import {startNode, type TestNode} from '../helpers/node.ts';

const change = async (node: TestNode, ...args: string[]) => {
  const {code, stderr} = await node.mfctl(['domain', ...args]);
  if (code !== 0) throw new Error(stderr);
};

const audited = async (node: TestNode): Promise<number> =>
  JSON.parse((await node.mfctl(['audit', '--limit', '1000', '-o', 'json'])).stdout).length;

test.serial('what one cluster exports makes another one the same, and applying it again changes nothing', async t => {
  const config = {dmarc: {report_from: 'dmarc@example.org'}};
  const [from, to] = await Promise.all([startNode(t), startNode(t, {config})]);
  await change(from, 'create', 'a.example', '--backend', '[::1]:25', '--tenant-id', 'no', '--reject-threshold', '12.5');
  await change(from, 'create', 'bücher.example', '--direction', 'outbound', '--dkim', '--inactive', '--tenant-id', '7');
  await change(from, 'retention', 'bücher.example', '--days', '45', '--reason', 'rbl=50');
  await change(
    from,
    'filters',
    'add',
    'a.example',
    '--score',
    '-2.5',
    '--header',
    'List-Id: *"x"*',
    '--comment',
    'ours: "yes" \u202e#',
  );
  await change(from, 'filters', 'add', 'a.example', '--block', '--sender-domain', 'SPAM.example');
  for (const args of [
    ['--block', '--sender-domain', 'worse.example'],
    ['--allow', '--sender', 'post@a.example', '--no-authenticated'],
  ])
    t.is((await from.mfctl(['filter', 'add', ...args])).code, 0);
  t.is((await to.mfctl(['filter', 'add', '--block', '--subject', 'old'])).code, 0);
  await change(to, 'create', 'a.example', '--backend', 'old.example:25', '--dmarc-reporting');
  await change(to, 'retention', 'a.example', '--days', '60', '--reason', 'spam=90');
  await change(to, 'filters', 'add', 'a.example', '--allow', '--sender', 'boss@example.org');
  await change(to, 'create', 'gone.example', '--backend', 'old.example:25');
  const {stdout: exported} = await from.mfctl(['domain', 'export']);

  const dry = await to.mfctl(['domain', 'apply', '-f', '-', '--prune', '--dry-run'], {input: exported});
  const untouched = await to.mfctl(['domain', 'get', 'gone.example']);
  const applied = await to.mfctl(['domain', 'apply', '-f', '-', '--prune', '--yes', '-o', 'json'], {input: exported});
  const before = await audited(to);
  const again = await to.mfctl(['domain', 'apply', '-f', '-', '--prune', '--yes'], {input: exported});

  t.deepEqual([dry.code, untouched.code], [0, 0]);
  t.regex(
    dry.stdout,
    /^~ all_domains\n {4}- filter: block subject old\n.*\n~ a\.example\n.*\n {4}~ retention: 60, spam 90 -> none\n.*\n\+ xn--bcher-kva\.example\n.*\n- gone\.example with/s,
  );
  t.is(applied.code, 0, applied.stderr);
  t.deepEqual(
    (JSON.parse(applied.stdout) as {domain: string; change: string}[]).map(({domain, change: kind}) => [domain, kind]),
    [
      ['all_domains', 'updated'],
      ['a.example', 'updated'],
      ['xn--bcher-kva.example', 'created'],
      ['gone.example', 'deleted'],
    ],
  );
  t.regex(applied.stderr, /warning: xn--bcher-kva\.example has no DKIM key/);
  t.is((await to.mfctl(['domain', 'export'])).stdout, exported);
  t.deepEqual(again, {code: 0, stdout: '', stderr: 'no changes\n'});
  t.is(await audited(to), before);
  t.false(/\bid\b|created_at|updated_at/.test(exported));
});

test.serial('a file with filters for all domains makes an empty cluster the same', async t => {
  const [from, to] = await Promise.all([startNode(t), startNode(t)]);
  await change(from, 'create', 'a.example', '--backend', '[::1]:25');
  t.is((await from.mfctl(['filter', 'add', '--block', '--sender-domain', 'worse.example', '--comment', 'why'])).code, 0);
  const {stdout: exported} = await from.mfctl(['domain', 'export']);

  const applied = await to.mfctl(['domain', 'apply', '-f', '-', '--yes'], {input: exported});

  t.is(applied.stderr, '1 created, 1 updated, 0 deleted\n');
  t.is((await to.mfctl(['domain', 'export'])).stdout, exported);
  t.regex(exported, /^all_domains:\n {2}filters:\n {4}- action: block\n/);
});

test.serial('some domains are exported by name or id, once each, as JSON too, and apply reads that as well', async t => {
  const node = await startNode(t);
  for (const name of ['b.example', 'a.example', 'c.example']) await change(node, 'create', name, '--backend', 'x.example:25');
  const {id} = JSON.parse((await node.mfctl(['domain', 'get', 'a.example', '-o', 'json'])).stdout);

  const some = await node.mfctl(['domain', 'export', 'B.example.', String(id), 'b.example', '-o', 'json']);
  const unknown = await node.mfctl(['domain', 'export', 'd.example']);
  const applied = await node.mfctl(['domain', 'apply', '-f', '-', '--yes'], {input: some.stdout});

  t.deepEqual(
    JSON.parse(some.stdout).domains.map(({name}: {name: string}) => name),
    ['a.example', 'b.example'],
  );
  t.is(unknown.code, 5);
  t.is(applied.stderr, 'no changes\n');
});
