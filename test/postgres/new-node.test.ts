// Commands of a node whose store is a PostgreSQL.
import {readdir, readFile, stat, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {ExecutionContext} from 'ava';
import {checkStoreOf} from '../../daemon/commands/join-store.ts';
import {loadConfig} from '../../daemon/config/load.ts';
import {storeSettings} from '../../daemon/config/store-settings.ts';
import {dataFolder} from '../../daemon/node/data-folder.ts';
import {readClusterFingerprint, readIdentityFile} from '../../daemon/node/identity-file.ts';
import {openPostgresStore} from '../../daemon/store/postgres/store.ts';
import {freeListens, mfdFile, run} from '../helpers/node.ts';
import {testFolder} from '../helpers/test-folder.ts';
import {testWithPostgres, usePostgres} from '../helpers/test-with-postgres.ts';

const postgres = usePostgres();

interface Options {
  data?: string;
  env?: Record<string, string>;
  args?: string[];
}

const init = async (t: ExecutionContext, url: string, {data, env = {}, args}: Options = {}) => {
  const root = await testFolder(t);
  const folder = dataFolder(data ?? join(root, 'data'));
  const store = args ?? ['--store-url', url, '--store-password-file', postgres().passwordFile];
  const ran = await run(mfdFile, ['init', '--json', '--data', folder.root, ...(await freeListens()), ...store], {
    env: {XDG_CONFIG_HOME: join(root, 'config'), ...env},
  });
  return {...ran, folder, left: (await readdir(root)).filter(name => name !== 'config')};
};

const openStoreOf = async (t: ExecutionContext, folder: ReturnType<typeof dataFolder>) => {
  const settings = storeSettings(await loadConfig(folder.config, {}));
  if (!settings) throw new Error('mfd.yaml has no store.url');
  const cluster = await readClusterFingerprint(folder.caCert);
  const store = await openPostgresStore({settings, cluster, ...(await readIdentityFile(folder.identity))});
  t.teardown(store.close);
  return store;
};

testWithPostgres('init makes the tables, the founder and the first key, and no database of its own', async t => {
  const {url} = await postgres().createDatabase();

  const {code, stdout, stderr, folder} = await init(t, url, {});

  t.is(code, 0, stderr);
  const report = JSON.parse(stdout);
  t.regex(report.api_key, /^mfk_\w{38}$/);
  t.deepEqual((await readdir(folder.root)).toSorted(), ['mfd.yaml', 'node.json', 'tls']);
  t.is((await stat(folder.identity)).mode & 0o777, 0o600);
  const store = await openStoreOf(t, folder);
  t.like(await store.config.listNodes(), [{id: 1, node_id: report.node_id}]);
  t.like(await store.config.listApiKeys(), [{name: 'admin', scope: 'full-admin', rate_limit_per_minute: 6000}]);
  for (const text of [stdout, stderr, await readFile(folder.config, 'utf8')]) t.false(text.includes(postgres().password));
});

testWithPostgres('init takes the store from variables and from an existing mfd.yaml, over TCP and over the socket', async t => {
  const {url, socketUrl} = await postgres().createDatabase();
  const other = await postgres().createDatabase();
  const {passwordFile} = postgres();
  const variables = {MFD_STORE_URL: socketUrl, MFD_STORE_PASSWORD_FILE: passwordFile};
  const data = await testFolder(t);
  await writeFile(join(data, 'mfd.yaml'), `store: {url: "${other.url}", password_file: ${passwordFile}}\n`);

  const fromVariables = await init(t, url, {env: variables, args: []});
  const fromFile = await run(mfdFile, ['init', '--json', '--data', data], {env: {XDG_CONFIG_HOME: await testFolder(t)}});

  t.is(fromVariables.code, 0, fromVariables.stderr);
  t.is((await loadConfig(fromVariables.folder.config, {})).config.store.url, socketUrl);
  t.is(fromFile.code, 0, fromFile.stderr);
  t.like(await readIdentityFile(join(data, 'node.json')), {nodeNo: 1});
});

testWithPostgres('init into a database that holds a cluster, or that is not there, makes nothing', async t => {
  const {url} = await postgres().createDatabase();
  await init(t, url);

  const again = await init(t, url);
  const absent = await init(t, url.replace(/test_\w+/, 'absent'));
  const wrong = await init(t, url, {args: ['--store-url', url]});

  t.is(again.code, 1);
  t.regex(again.stderr, /^mfd: the database test_\w+ holds a cluster already; join it instead/);
  t.regex(absent.stderr, /^mfd: PostgreSQL at \S+ has no database absent; create it/);
  t.regex(wrong.stderr, /^mfd: PostgreSQL at \S+ .*store\.password_file/);
  for (const {code, left, stderr} of [again, absent, wrong]) {
    t.is(code, 1);
    t.is(stderr.trim().split('\n').length, 1, stderr);
    t.deepEqual(left, []);
  }
});

testWithPostgres('check-config names what is wrong with the database', async t => {
  const server = postgres();
  const {url, name} = await server.createDatabase();
  const {folder} = await init(t, url);
  const {url: emptyUrl} = await server.createDatabase();
  const {url: otherUrl} = await server.createDatabase();
  await init(t, otherUrl);
  const check = async (storeUrl: string) =>
    run(mfdFile, ['check-config', '--data', folder.root], {env: {MFD_STORE_URL: storeUrl}});

  const [own, empty, other, password] = [
    await check(url),
    await check(emptyUrl),
    await check(otherUrl),
    await check('postgres://postgres:hunter2@127.0.0.1/x'),
  ];

  t.like(own, {code: 0, stdout: `${folder.config} is fine\n`, stderr: ''}, name);
  t.is(empty.code, 1);
  t.regex(empty.stderr, /^mfd: the database \w+ is empty/);
  t.is(other.code, 1);
  t.regex(other.stderr, /^mfd: the database \w+ belongs to another cluster/);
  t.is(password.code, 2);
  t.regex(password.stderr, /^mfd: MFD_STORE_URL: store\.url must not contain a password/);
  t.notRegex(password.stderr, /hunter2/);
});

testWithPostgres('bootstrap-key makes a key in the common store', async t => {
  const {url} = await postgres().createDatabase();
  const {folder} = await init(t, url);

  const refused = await run(mfdFile, ['bootstrap-key', '--data', folder.root]);
  const forced = await run(mfdFile, ['bootstrap-key', '--data', folder.root, '--force']);

  t.is(refused.code, 1);
  t.regex(refused.stderr, /1 active full-admin key/);
  t.is(forced.code, 0, forced.stderr);
  t.regex(forced.stdout, /^mfk_\w{38}\n$/);
  t.like(await (await openStoreOf(t, folder)).config.listApiKeys(), [{name: 'admin'}, {name: 'bootstrap'}]);
});

testWithPostgres(
  'a node that joins refuses a database of another cluster, an empty one, and one that it cannot reach',
  async t => {
    const server = postgres();
    const {url} = await server.createDatabase();
    const {folder} = await init(t, url);
    const store = storeSettings(await loadConfig(folder.config, {}));
    if (!store) throw new Error('mfd.yaml has no store.url');
    const caFingerprint = Buffer.from((await readClusterFingerprint(folder.caCert)).replace('sha256:', ''), 'hex');
    const {name: empty} = await server.createDatabase();
    const refusal = async (changed: object, fingerprint = caFingerprint) =>
      (await t.throwsAsync(checkStoreOf({store: {...store, ...changed}}, {caFingerprint: fingerprint})))?.message ?? '';

    t.deepEqual(await checkStoreOf({store}, {caFingerprint}), []);
    t.regex(await refusal({}, Buffer.alloc(32)), /belongs to another cluster.*nothing was done/);
    t.regex(await refusal({database: empty}), /is empty, so it is not that of the cluster; nothing was done/);
    t.regex(await refusal({port: 1}), /cannot be used from here: .*nothing was done\. --store-url/);
  },
);
