// The server that tests with PostgreSQL run on.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {chmod, readFile, stat} from 'node:fs/promises';
import type {ExecutionContext} from 'ava';
import pg from 'pg';
import {createAuthority} from '../../daemon/cluster/certificates.ts';
import {eventually} from '../helpers/eventually.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import {childrenOf, isRunning} from '../helpers/process-table.ts';
import {testFolder} from '../helpers/test-folder.ts';
import {testWithPostgres, usePostgres} from '../helpers/test-with-postgres.ts';

const postgres = usePostgres({hasTls: true, settings: {work_mem: '7MB'}});

/** The password becomes a part of the URL: the driver ignores another one beside it. */
const connect = async (t: ExecutionContext, url: string, {password, ...config}: pg.ClientConfig & {password: string}) => {
  const encoded = encodeURIComponent(password);
  const connectionString = url.includes('@') ? url.replace('@', `:${encoded}@`) : `${url}&password=${encoded}`;
  const client = new pg.Client({connectionString, connectionTimeoutMillis: 10_000, ...config});
  // A server that ends breaks the connection.
  client.on('error', () => undefined);
  t.teardown(async () => client.end());
  await client.connect();
  return client;
};

testWithPostgres('every database begins empty, and is reached over TCP and over the socket', async t => {
  const {password, createDatabase, query} = postgres();
  const {name, url, socketUrl} = await createDatabase();
  await query('CREATE TABLE mail (id int)', {database: name});
  const other = await createDatabase("it's another");

  for (const address of [url, socketUrl]) {
    const client = await connect(t, address, {password});
    const {rows} = await client.query('SELECT current_database() AS name, (SELECT count(*)::int FROM mail) AS mails');
    t.deepEqual(rows, [{name, mails: 0}]);
  }
  for (const address of [other.url, other.socketUrl]) {
    const client = await connect(t, address, {password});
    t.like(await client.query("SELECT current_database() AS name, to_regclass('mail') AS mail"), {
      rows: [{name: "it's another", mail: null}],
    });
  }
});

testWithPostgres('the password is needed, and is in a file that only its owner may read', async t => {
  const {password, passwordFile, createDatabase, createRole} = postgres();
  const {url, socketUrl} = await createDatabase();

  for (const address of [url, socketUrl])
    await t.throwsAsync(connect(t, address, {password: 'wrong'}), {message: /password authentication failed/});
  t.is(await readFile(passwordFile, 'utf8'), `${password}\n`);
  t.is((await stat(passwordFile)).mode & 0o777, 0o600);

  const asSmall = url.replace('postgres@', 'small@');
  await createRole('small', "s'mall", 'CONNECTION LIMIT 1');
  const client = await connect(t, asSmall, {password: "s'mall"});
  t.like(await client.query('SELECT current_user AS name'), {rows: [{name: 'small'}]});
  await t.throwsAsync(connect(t, asSmall, {password: "s'mall"}), {message: /too many connections/});
});

testWithPostgres('it writes durably, and takes other settings', async t => {
  const show = async (name: string) => (await postgres().query(`SHOW ${name}`))[0]?.[name];

  t.is(await show('fsync'), 'on');
  t.is(await show('work_mem'), '7MB');
  t.is(await show('lc_collate'), 'C.UTF-8');
});

testWithPostgres('its certificate is valid with its authority only', async t => {
  const {password, caFile = '', createDatabase} = postgres();
  const {url} = await createDatabase();
  const client = await connect(t, url, {password, ssl: {ca: await readFile(caFile)}});
  const {rows} = await client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
  const other = await createAuthority(Date.now());

  t.deepEqual(rows, [{ssl: true}]);
  await t.throwsAsync(connect(t, url, {password, ssl: {ca: other.cert}}), {
    code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  });
});

testWithPostgres('a killed server has no processes, and keeps what was committed', async t => {
  const server = await startPostgres(t);
  const {name, url} = await server.createDatabase();
  await server.query('CREATE TABLE mail (id int)', {database: name});
  const client = await connect(t, url, {password: server.password});
  await client.query('INSERT INTO mail VALUES (1)');
  await client.query('BEGIN');
  await client.query('INSERT INTO mail VALUES (2)');
  const pids = (await server.query<{pid: number}>('SELECT pid FROM pg_stat_activity')).map(({pid}) => pid);

  await server.kill();
  t.true(pids.length > 3);
  t.deepEqual(
    await Promise.all(pids.map(isRunning)),
    pids.map(() => false),
  );
  await t.throwsAsync(server.query('SELECT 1'));

  await server.start();
  t.deepEqual(await server.query('SELECT * FROM mail', {database: name}), [{id: 1}]);
  t.regex(await server.log(), /database system was not properly shut down/);
  await server.stop();
  await server.start();
  t.deepEqual(await server.query('SELECT * FROM mail', {database: name}), [{id: 1}]);
});

testWithPostgres('a frozen server answers once it is thawed', async t => {
  const server = await startPostgres(t);
  const {url} = await server.createDatabase();
  const client = await connect(t, url, {password: server.password});

  await server.freeze();
  let isAnswered = false;
  const answer = client.query('SELECT 1 AS one').finally(() => (isAnswered = true));
  await t.throwsAsync(connect(t, url, {password: server.password, connectionTimeoutMillis: 500}));
  t.false(isAnswered);

  await server.thaw();
  t.like(await answer, {rows: [{one: 1}]});
});

testWithPostgres('a server ends with the process that started it, however that ends', async t => {
  const module = (name: string) => JSON.stringify(new URL(`../helpers/${name}.ts`, import.meta.url).href);
  const code = `import {startOwner} from ${module('owner')};
    import {startPostgres} from ${module('postgres-server')};
    await startPostgres(startOwner());
    console.log('started');
    setInterval(() => {}, 1000);`;
  // Nobody deletes the folders of a process that was killed.
  const folder = await testFolder(t);
  await chmod(folder, 0o755);
  const child = spawn(process.execPath, ['--import=tsx', '--input-type=module', '--eval', code], {
    env: {...process.env, TMPDIR: folder},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const first = await childrenOf(child.pid ?? 0);
  const pids = [...first, ...(await Promise.all(first.map(childrenOf))).flat()];
  t.true(pids.length > 3);

  child.kill('SIGKILL');
  await once(child, 'exit');

  await eventually(async () => !(await Promise.all(pids.map(isRunning))).includes(true));
  t.pass();
});
