// A store that all nodes share, as far as the command line and the folder decide; no server is asked.
import {mkdir, readdir, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {bootstrapKey} from '../../../daemon/commands/bootstrap-key.ts';
import {initialise} from '../../../daemon/commands/init.ts';
import {withStoreOfCluster} from '../../../daemon/commands/join-store.ts';
import {findUninitialised, planNode} from '../../../daemon/commands/new-node.ts';
import {repair} from '../../../daemon/commands/repair.ts';
import {requireOwnStore} from '../../../daemon/commands/store-options.ts';
import {readConfig} from '../../../daemon/config/load.ts';
import {dataFolder} from '../../../daemon/node/data-folder.ts';
import {writeIdentityFile} from '../../../daemon/node/identity-file.ts';
import {testFolder} from '../../helpers/test-folder.ts';

const url = 'postgres://mfd@db.example.com/mfd';
/** Nobody listens on the port of this address. */
const nobody = 'postgres://mfd@127.0.0.1:1/mfd';

const init = async (options: {data: string; storeUrl?: string; storePasswordFile?: string}) =>
  initialise(options, {warn: () => {}});

const folderWith = async (t: ExecutionContext, ...files: string[]) => {
  const folder = dataFolder(await testFolder(t));
  for (const file of files) await writeFile(join(folder.root, file), '');
  return folder;
};

const messageOf = async (t: ExecutionContext, work: Promise<unknown>): Promise<string> =>
  (await t.throwsAsync(work))?.message ?? '';

test('mfd.yaml of a new node names the store, with absolute paths', async t => {
  const root = await testFolder(t);
  const password = join(root, 'password');
  await writeFile(password, 'hunter2\n');

  const {configText = '', store} = await planNode({
    data: join(root, 'data'),
    storeUrl: url,
    storePasswordFile: `${root}/./password`,
  });

  const {config} = await readConfig(configText, 'mfd.yaml', {});
  t.deepEqual(config.store, {url, password_file: password, pool: 10});
  t.is(store?.password, 'hunter2');
  t.notRegex(configText, /hunter2/);
});

test('mfd.yaml that is there already gets the store, and keeps everything else', async t => {
  const folder = await folderWith(t);
  await writeFile(folder.config, '# mine\nfqdn: mx.example.com\nsmtp: {listen: 127.0.0.1:25}\n');

  const {configText = ''} = await planNode({data: folder.root, storeUrl: url});

  t.true(configText.startsWith('# mine\nfqdn: mx.example.com\nsmtp: {listen: 127.0.0.1:25}\n'));
  t.is((await readConfig(configText, 'mfd.yaml', {})).config.store.url, url);
  t.notRegex(await readFile(folder.config, 'utf8'), /store/);
});

test('mfd.yaml that names a store is used as it is, and not overridden', async t => {
  const folder = await folderWith(t);
  await writeFile(folder.config, `store:\n  url: ${url}\n`);

  const {configText, store} = await planNode({data: folder.root});

  t.is(configText, undefined);
  t.is(store?.host, 'db.example.com');
  t.regex(await messageOf(t, planNode({data: folder.root, storeUrl: url})), /mfd\.yaml:2: the store is named there already/);
});

test('options that name no store, or a password, are wrong usage; nothing is created', async t => {
  const root = await testFolder(t);
  const data = join(root, 'data');

  t.is(await messageOf(t, init({data, storePasswordFile: '/p'})), '--store-password-file needs --store-url');
  const said = await messageOf(t, init({data, storeUrl: 'postgres://mfd:hunter2@db/mfd'}));
  t.regex(said, /^--store-url must not contain a password/);
  t.notRegex(said, /hunter2/);
  const missing = await messageOf(t, init({data, storeUrl: url, storePasswordFile: join(root, 'none')}));
  t.is(missing, `--store-password-file: ${join(root, 'none')} does not exist`);
  t.deepEqual(await readdir(root), []);
  await writeFile(join(root, 'empty'), '\n');
  t.regex(
    await messageOf(t, init({data, storeUrl: url, storePasswordFile: join(root, 'empty')})),
    /^--store-password-file: \S+ is empty; /,
  );
  t.deepEqual(await readdir(root), ['empty']);
});

test('a server that does not answer makes no node', async t => {
  const root = await testFolder(t);

  t.regex(await messageOf(t, init({data: join(root, 'data'), storeUrl: nobody})), /^PostgreSQL at 127\.0\.0\.1:1 /);
  t.deepEqual(await readdir(root), []);
});

test('a folder with node.json holds a node', async t => {
  t.is(await findUninitialised((await folderWith(t, 'node.json')).root), undefined);
  t.is(await findUninitialised((await folderWith(t, 'node.json', 'mfd.yaml')).root), undefined);
  t.deepEqual(await findUninitialised((await folderWith(t, 'mfd.yaml')).root), {isConfigured: true});
  const {root} = await folderWith(t, 'node.json', 'mfd.yaml');
  t.regex(await messageOf(t, planNode({data: root})), /holds a node already/);
});

test('data in SQLite under a configuration for PostgreSQL is refused with the way to move it, and the reverse too', async t => {
  const shared = await readConfig(`store:\n  url: ${url}\n`, 'mfd.yaml', {});
  const own = await readConfig('', 'mfd.yaml', {});
  const sqlite = await folderWith(t, 'mfd.db');
  const postgres = await folderWith(t, 'node.json');
  const both = await folderWith(t, 'mfd.db', 'node.json');

  t.regex(
    await messageOf(t, requireOwnStore(sqlite, shared)),
    /^mfd\.yaml:2: store\.url names PostgreSQL, .*mfd migrate --data \S+ --store-url URL$/,
  );
  t.regex(
    await messageOf(t, requireOwnStore(postgres, own)),
    /node\.json is of a node whose data is in PostgreSQL; set store\.url/,
  );
  t.is((await requireOwnStore(both, shared))?.database, 'mfd');
  t.is(await requireOwnStore(sqlite, own), undefined);
});

test('nodes with a store of their own and nodes of a shared one never mix', async t => {
  const options = {data: join(await testFolder(t), 'data')};
  const plain = await planNode(options);
  const shared = await planNode({...options, storeUrl: url});

  const filled = await withStoreOfCluster({planned: plain, options, storeUrl: url});
  const overridden = await withStoreOfCluster({planned: shared, options: {...options, storeUrl: url}, storeUrl: nobody});

  t.is(filled.store?.host, 'db.example.com');
  t.is(filled.nodeId, plain.nodeId);
  t.regex(filled.configText ?? '', new RegExp(`url: ${url}\n`));
  t.is(overridden.store?.host, 'db.example.com');
  t.is(await withStoreOfCluster({planned: plain, options, storeUrl: undefined}), plain);
  t.regex(
    await messageOf(t, withStoreOfCluster({planned: shared, options, storeUrl: undefined})),
    /every node of this cluster has a store of its own \(SQLite\).*nothing was done/,
  );
  const withPassword = {...options, storePasswordFile: '/p'};
  t.regex(await messageOf(t, withStoreOfCluster({planned: plain, options: withPassword, storeUrl: undefined})), /\(SQLite\)/);
});

test('repair and bootstrap-key know a node whose data is elsewhere', async t => {
  const folder = await folderWith(t);
  await mkdir(folder.tls);
  await writeIdentityFile(folder.identity, {nodeId: 'alpha', nodeNo: 1});
  await writeFile(folder.config, '');

  t.regex(
    await messageOf(
      t,
      repair(folder.root, () => {}),
    ),
    /^the data of this node is in PostgreSQL, .*restore that database/,
  );
  t.regex(await messageOf(t, bootstrapKey(folder.root, false)), /node\.json is of a node .*set store\.url/);
});
