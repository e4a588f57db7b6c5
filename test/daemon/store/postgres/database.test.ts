import {setTimeout as delay} from 'node:timers/promises';
import type {ExecutionContext} from 'ava';
import {type Database, openDatabase} from '../../../../daemon/store/postgres/database.ts';
import {newCluster} from '../../../helpers/common-store.ts';
import {type PostgresServer, startPostgres} from '../../../helpers/postgres-server.ts';
import {testWithPostgres} from '../../../helpers/test-with-postgres.ts';

interface Opened {
  server: PostgresServer;
  database: Database;
  /** Runs as the administrator of the server. */
  admin(sql: string): Promise<Record<string, unknown>[]>;
  write(name: string): Promise<void>;
  names(): Promise<unknown[]>;
}

const open = async (t: ExecutionContext, limits = {commitMs: 1500, lookUpMs: 4000}): Promise<Opened> => {
  const server = await startPostgres(t);
  const settings = await newCluster(server);
  const database = openDatabase(settings, limits);
  t.teardown(database.close);
  const admin = async (sql: string) => server.query<Record<string, unknown>>(sql, {database: settings.database});
  return {
    server,
    database,
    admin,
    write: async name =>
      database.transaction(async client => {
        await client.query("INSERT INTO local_state (name, value) VALUES ($1, '')", [name]);
      }),
    names: async () => (await admin("SELECT name FROM local_state WHERE name LIKE 'a%' ORDER BY name")).map(({name}) => name),
  };
};

/** From now on each COMMIT waits for a standby with this name, which may not exist. */
const waitForStandby = async ({admin}: Opened, name: string): Promise<void> => {
  await admin(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
  await admin('SELECT pg_reload_conf()');
  await delay(300);
};

const whileWaiting = async ({admin}: Opened, act: string): Promise<void> => {
  for (;;) {
    const done = await admin(
      `SELECT ${act}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'mfd'`,
    );
    if (done.length > 0) return;
    await delay(20);
  }
};

testWithPostgres('a COMMIT that waits for a standby that is gone is no success, and is looked up', async t => {
  const opened = await open(t);
  await opened.write('a1');
  await waitForStandby(opened, 'nobody');

  await t.throwsAsync(opened.write('a2'), {code: 'outcome_unknown'});

  await waitForStandby(opened, '');
  await t.notThrowsAsync(opened.write('a3'));
});

testWithPostgres('a COMMIT whose wait was cancelled comes back with a WARNING, and is no success', async t => {
  const opened = await open(t, {commitMs: 4000, lookUpMs: 500});
  await waitForStandby(opened, 'nobody');

  const writing = opened.write('a1');
  const [outcome] = await Promise.allSettled([writing, whileWaiting(opened, 'pg_cancel_backend')]);

  t.is(outcome.status, 'rejected');
  t.is(outcome.status === 'rejected' && outcome.reason.code, 'outcome_unknown');
});

testWithPostgres('a COMMIT whose connection is cut is a success once it is certain that it is stored', async t => {
  const opened = await open(t, {commitMs: 20_000, lookUpMs: 8000});
  await waitForStandby(opened, 'nobody');

  const writing = opened.write('a1');
  await whileWaiting(opened, 'pg_terminate_backend');
  await waitForStandby(opened, '');

  await t.notThrowsAsync(writing);
  t.deepEqual(await opened.names(), ['a1']);
});

testWithPostgres('a transaction whose connection is cut before its COMMIT is not done, and said to be so', async t => {
  const {database, admin, names} = await open(t);

  const writing = database.transaction(async client => {
    await client.query("INSERT INTO local_state (name, value) VALUES ('a1', '')");
    await admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mfd'");
    await client.query("INSERT INTO local_state (name, value) VALUES ('a2', '')");
  });

  await t.throwsAsync(writing, {code: 'unavailable'});
  t.deepEqual(await names(), []);
});

testWithPostgres('two transactions that wait for each other are both done', async t => {
  const {database, write, names} = await open(t);
  for (const name of ['a1', 'a2']) await write(name);
  const inOrder = async (...wanted: string[]) =>
    database.transaction(async client => {
      for (const name of wanted) {
        await client.query("UPDATE local_state SET value = value || 'x' WHERE name = $1", [name]);
        await delay(100);
      }
    });

  await Promise.all([inOrder('a1', 'a2'), inOrder('a2', 'a1')]);

  const {rows} = await database.query("SELECT value FROM local_state WHERE name IN ('a1', 'a2')");
  t.deepEqual(
    rows.map(({value}) => value),
    ['xx', 'xx'],
  );
  t.deepEqual(await names(), ['a1', 'a2']);
});

testWithPostgres('an error of the caller rolls everything back, and leaves the connection usable', async t => {
  const {database, write, names} = await open(t);

  await t.throwsAsync(
    database.transaction(async client => {
      await client.query("INSERT INTO local_state (name, value) VALUES ('a1', '')");
      throw new Error('on second thoughts');
    }),
    {message: 'on second thoughts'},
  );

  for (let n = 2; n < 20; n += 1) await write(`a${n}`);
  t.is((await names()).length, 18);
});

testWithPostgres('a server that is down is unavailable, and usable as soon as it is back', async t => {
  const {server, write, database, names} = await open(t);
  await write('a1');

  await server.stop('immediate');
  await t.throwsAsync(write('a2'), {code: 'unavailable', message: /PostgreSQL does not answer; nothing was done/});
  await t.throwsAsync(database.query('SELECT 1'), {code: 'unavailable'});
  await server.start();

  await t.notThrowsAsync(write('a3'));
  t.deepEqual(await names(), ['a1', 'a3']);
});

testWithPostgres('with all connections in use a caller is told so, and does not wait for ever', async t => {
  const {database} = await open(t);
  let end = () => {};
  const held = new Promise<void>(resolve => {
    end = resolve;
  });
  const busy = Array.from({length: 5}, async () => database.transaction(async () => held));

  await t.throwsAsync(database.query('SELECT 1'), {code: 'unavailable'});

  end();
  await Promise.all(busy);
  await t.notThrowsAsync(database.query('SELECT 1'));
});
