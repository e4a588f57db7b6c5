// `mfd start` without a node in its data folder, and with addresses that are in use.
import {once} from 'node:events';
import {mkdir, readdir, readFile, rm, writeFile} from 'node:fs/promises';
import {createServer} from 'node:net';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {stringify} from 'yaml';
import {startFirst} from '../helpers/daemon.ts';
import {listening} from '../helpers/listening.ts';
import {freeListens, makeNode, mfctlFile, mfdFile, run} from '../helpers/node.ts';
import {freePort} from '../helpers/ports.ts';
import {testFolder} from '../helpers/store.ts';

const arrange = async (t: ExecutionContext) => {
  const root = await testFolder(t);
  const env = {XDG_CONFIG_HOME: join(root, 'home')};
  await mkdir(env.XDG_CONFIG_HOME);
  const data = join(root, 'data');
  return {
    root,
    data,
    env,
    start: async (...args: string[]) => run(mfdFile, ['start', ...args], {env}),
    contexts: async () => (await run(mfctlFile, ['context', 'list', '-o', 'json'], {env})).stdout,
  };
};

/** An address with another listener. */
const taken = async (t: ExecutionContext): Promise<string> => `127.0.0.1:${await listening(t, createServer())}`;

const noNode = (data: string) =>
  `mfd: no node in ${data}: correct --data, or mount what belongs there; to make a new node there: mfd start --init --data ${data}\n`;

test('without --init no node is made, whatever the folder is', async t => {
  const {root, data, env, start} = await arrange(t);
  const folders: Record<string, string[]> = {
    empty: [],
    configured: ['mfd.yaml'],
    mounted: ['lost+found'],
    full: ['letter', 'more'],
  };
  for (const [name, files] of Object.entries(folders)) {
    await mkdir(join(root, name));
    for (const file of files) await writeFile(join(root, name, file), '');
  }

  const absent = await start('--data', data, '--api-listen', '127.0.0.1:0');

  t.deepEqual(absent, {code: 2, stdout: '', stderr: noNode(data)});
  t.false((await readdir(root)).includes('data'));
  for (const [name, files] of Object.entries(folders)) {
    const folder = join(root, name);
    t.deepEqual(await start('--data', folder), {code: 2, stdout: '', stderr: noNode(folder)}, name);
    t.deepEqual(await readdir(folder), files);
  }
  t.deepEqual(await readdir(env.XDG_CONFIG_HOME), []);
});

test('--init makes a node in no folder that has anything else', async t => {
  const {root, start} = await arrange(t);
  await mkdir(join(root, 'full'));
  await writeFile(join(root, 'full', 'letter'), '');

  const {code, stderr} = await start('--init', '--data', join(root, 'full'));

  t.is(code, 1);
  t.is(stderr, `mfd: ${root}/full is not empty; choose an empty folder\n`);
  t.deepEqual(await readdir(join(root, 'full')), ['letter']);
});

test('--init says how to go on in a folder that has nothing but what an interrupted one made, and in no other', async t => {
  const {root, start} = await arrange(t);
  const folder = join(root, 'left');
  await mkdir(join(folder, 'tls'), {recursive: true});
  await writeFile(join(folder, 'tls', 'ca.key'), '');
  const said = `mfd: ${folder} is not empty; choose an empty folder`;
  const advice = (...names: string[]) =>
    `${said}, or if an interrupted mfd init left it so, remove what it made: rm -r ${names.map(name => join(folder, name)).join(' ')}\n`;

  const early = await start('--init', '--data', folder);
  for (const name of ['mfd.db', 'mfd.db-wal']) await writeFile(join(folder, name), '');
  const late = await start('--init', '--data', folder);
  const withoutInit = await start('--data', folder);
  await mkdir(join(folder, 'spool'));
  const ran = await start('--data', folder);
  await rm(join(folder, 'mfd.db'));
  const other = await start('--init', '--data', folder);

  t.is(early.stderr, advice('tls'));
  t.is(late.stderr, advice('tls', 'mfd.db', 'mfd.db-wal'));
  t.is(withoutInit.stderr, noNode(folder));
  t.regex(ran.stderr, /mfd\.yaml does not exist/);
  t.is(other.stderr, `${said}\n`);
  t.deepEqual(await readdir(join(folder, 'tls')), ['ca.key']);
});

test('--init takes the addresses of the new node, and starts one that is there', async t => {
  const {data, env} = await arrange(t);
  const listens = await freeListens();

  const first = startFirst(t, data, env, [...listens, '--node-id', 'alpha']);
  const line = await first.ready;
  first.signal('SIGTERM');
  await first.ended;
  const again = startFirst(t, data, env);

  t.is(await again.ready, line);
  t.true(line.startsWith(`mfd ready node=alpha api=https://${listens[1]} `), line);
  t.true(first.stdout().includes('mfctl now uses the context alpha\n'));
  t.notRegex(again.stdout(), /API key|mfctl/);
});

test('addresses for a node that is there already are refused, with where its own are', async t => {
  const {data, env, start} = await arrange(t);
  await makeNode(['init', '--data', data], {env});
  const before = await readFile(join(data, 'mfd.yaml'), 'utf8');

  const one = await start('--init', '--data', data, '--smtp-listen', '127.0.0.1:2525');
  const two = await start('--data', data, '--smtp-listen', '127.0.0.1:2525', '--fqdn', 'mx.test');

  t.is(one.code, 2);
  t.is(
    one.stderr,
    `mfd: ${data} holds a node already: --smtp-listen is for a new one; leave that out, and change ${data}/mfd.yaml instead\n`,
  );
  t.is(two.code, 2);
  t.regex(two.stderr, /: --smtp-listen, --fqdn are for a new one; /);
  t.is(await readFile(join(data, 'mfd.yaml'), 'utf8'), before);
});

test('addresses that are in use are named at once, each with its key, its file and its variable', async t => {
  const {root, data, env, start} = await arrange(t);
  const {node_id} = await makeNode(['init', '--data', data, '--node-id', 'alpha'], {env});
  const socket = join(root, 'milter.sock');
  const listener = createServer().listen(socket);
  await once(listener, 'listening');
  t.teardown(() => listener.close());
  const sections: Record<string, Record<string, string>> = {};
  for (const name of ['api', 'cluster', 'metrics', 'smtp']) sections[name] = {listen: await taken(t)};
  sections.postfix = {config_dir: root, milter_listen: `unix:${socket}`, socketmap_listen: await taken(t)};
  await writeFile(join(data, 'mfd.yaml'), stringify(sections));

  const {code, stdout, stderr} = await start('--data', data);

  t.is(node_id, 'alpha');
  t.is(code, 1);
  t.is(stdout, '');
  const said = Object.entries(sections).flatMap(([section, keys]) =>
    Object.entries(keys)
      .filter(([key]) => key !== 'config_dir')
      .map(
        ([key, address]) =>
          `${section}.${key} ${address} is in use (${data}/mfd.yaml or MFD_${section.toUpperCase()}_${key.toUpperCase()})`,
      ),
  );
  t.is(stderr.trimEnd().split('\n').at(-1), `mfd: ${said.join('; ')}; stop what listens there, or choose another address`);
  t.is(said.length, 6);
});

test('one address for two keys is in use as well', async t => {
  const {data, env, start} = await arrange(t);
  await makeNode(['init', '--data', data], {env});
  const port = await freePort();
  const same = {listen: `127.0.0.1:${port}`};
  await writeFile(
    join(data, 'mfd.yaml'),
    stringify({api: same, cluster: {listen: '127.0.0.1:0'}, metrics: same, smtp: {listen: '127.0.0.1:0'}}),
  );

  const {code, stderr} = await start('--data', data);

  t.is(code, 1);
  t.regex(stderr, new RegExp(`^mfd: metrics\\.listen 127\\.0\\.0\\.1:${port} is in use \\(`, 'm'));
});

test('a first start that cannot listen makes no node, and leaves mfctl as it was', async t => {
  const {root, data, env, start, contexts} = await arrange(t);
  await makeNode(['init', '--data', join(root, 'other'), '--node-id', 'other'], {env});
  const before = await contexts();
  const [metrics, smtp] = [await taken(t), await taken(t)];
  const listens = ['--api-listen', '127.0.0.1:0', '--cluster-listen', '127.0.0.1:0'];

  const {code, stdout, stderr} = await start(
    '--init',
    '--data',
    data,
    ...listens,
    '--metrics-listen',
    metrics,
    '--smtp-listen',
    smtp,
  );

  t.is(code, 1);
  t.is(stdout, '');
  t.is(
    stderr,
    `mfd: metrics.listen ${metrics} is in use (${data}/mfd.yaml or MFD_METRICS_LISTEN); smtp.listen ${smtp} is in use (${data}/mfd.yaml or MFD_SMTP_LISTEN); stop what listens there, or choose another address, such as with --metrics-listen; no node was made\n`,
  );
  t.false((await readdir(root)).includes('data'));
  t.is(await contexts(), before);
  t.regex(before, /"name": "other",\s+"current": true/);
});

test('a first start that fails once the node is made leaves mfctl as it was, and says how to go on', async t => {
  const {root, data, env, start, contexts} = await arrange(t);
  await makeNode(['init', '--data', join(root, 'other'), '--node-id', 'other'], {env});
  const before = await contexts();
  await mkdir(data);
  // Not an address of this machine: only listening reveals that.
  const sections = Object.fromEntries(['api', 'cluster', 'metrics', 'smtp'].map(name => [name, {listen: '192.0.2.1:2525'}]));
  await writeFile(join(data, 'mfd.yaml'), stringify(sections));

  const {code, stdout, stderr} = await start('--init', '--data', data, '--node-id', 'alpha');

  t.is(code, 1);
  t.regex(stderr, /^mfd: the address 192\.0\.2\.1:2525 is not one of this machine\n$/m);
  t.regex(stdout, /API key +mfk_/);
  t.regex(stdout, /^mfctl was not changed\. Once the node runs: mfctl context add alpha --url https:\S+ .* --use\n$/m);
  t.is(await contexts(), before);
});
