import pg from 'pg';
import {clientConfig, type PostgresSettings} from '../../../../daemon/store/postgres/connection.ts';
import {inspectPostgres, StoreRefusal} from '../../../../daemon/store/postgres/inspect.ts';
import {createPostgresTables, openPostgresStore} from '../../../../daemon/store/postgres/store.ts';
import {cluster, emptyDatabase, newCluster} from '../../../helpers/common-store.ts';
import {startPostgres} from '../../../helpers/postgres-server.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';

const postgres = usePostgres();

testWithPostgres('an empty database has no cluster, and one that init has made has one', async t => {
  const settings = await emptyDatabase(postgres());

  t.deepEqual(await inspectPostgres(settings, cluster), {hasCluster: false, warnings: []});
  await createPostgresTables(settings, cluster);
  t.deepEqual(await inspectPostgres(settings, cluster), {hasCluster: true, warnings: []});
});

testWithPostgres('a second cluster is not made in a database that has one', async t => {
  const settings = await newCluster(postgres());

  await t.throwsAsync(createPostgresTables(settings, 'another'), {instanceOf: StoreRefusal, message: /join it instead/});
});

testWithPostgres('a node of another cluster, and one of an older version, are refused', async t => {
  const settings = await newCluster(postgres());
  const open = async (fingerprint: string) => openPostgresStore({settings, cluster: fingerprint, nodeId: 'alpha', nodeNo: 1});

  await t.throwsAsync(open('another'), {instanceOf: StoreRefusal, message: /belongs to another cluster/});
  await postgres().query("INSERT INTO schema_migration (name) VALUES ('0099_later')", {database: settings.database});
  await t.throwsAsync(open(cluster), {instanceOf: StoreRefusal, message: /newer version of mfd \(it has 0099_later\)/});
});

testWithPostgres('a node does not start on a database without a cluster', async t => {
  const settings = await emptyDatabase(postgres());

  await t.throwsAsync(openPostgresStore({settings, cluster, nodeId: 'alpha', nodeNo: 1}), {
    instanceOf: StoreRefusal,
    message: /holds no cluster/,
  });
});

testWithPostgres('a role that may not make tables, or not write them, is refused, and what it needs is said', async t => {
  const empty = await emptyDatabase(postgres());
  const used = await newCluster(postgres());
  await postgres().createRole('guest', 'let me in');
  const guest = {user: 'guest', password: 'let me in'};

  await t.throwsAsync(inspectPostgres({...empty, ...guest}, undefined), {message: /may not create tables; make it the owner/});
  await t.throwsAsync(inspectPostgres({...used, ...guest}, cluster), {message: /may not read|belongs|connect as the owner/});
});

testWithPostgres('an owner who is no superuser may make the tables', async t => {
  const settings = await emptyDatabase(postgres());
  await postgres().createRole('owner', 'mine');
  await postgres().query(`ALTER DATABASE ${settings.database} OWNER TO owner`);

  await createPostgresTables({...settings, user: 'owner', password: 'mine'}, cluster);

  t.true((await inspectPostgres({...settings, user: 'owner', password: 'mine'}, cluster)).hasCluster);
});

/** Becomes what a node of 0.8 had: without the last migration, and with one of the tables that it replaces by views. */
const makeEarlier = async (settings: PostgresSettings): Promise<void> => {
  const store = await openPostgresStore({settings, cluster, nodeId: 'alpha', nodeNo: 1});
  await store.close();
  const client = new pg.Client(clientConfig(settings));
  await client.connect();
  await client.query("DELETE FROM schema_migration WHERE name = '0006_records_once'");
  await client.query('CREATE TABLE domain (id bigint PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE)');
  await client.end();
};

for (const right of ['owns the database', 'has a schema of its own'] as const)
  testWithPostgres(`a role that ${right} makes the tables, and the views and rules of an upgrade`, async t => {
    const {query, createRole} = postgres();
    const {database, ...server} = await emptyDatabase(postgres());
    const user = `role_${database}`;
    await createRole(user, 'mine');
    if (right === 'owns the database') await query(`ALTER DATABASE ${database} OWNER TO ${user}`);
    else
      await query(
        `CREATE SCHEMA AUTHORIZATION ${user}; CREATE EXTENSION pg_trgm;
         REVOKE ALL ON DATABASE ${database} FROM PUBLIC; REVOKE ALL ON SCHEMA public FROM PUBLIC;
         GRANT CONNECT ON DATABASE ${database} TO ${user}; GRANT USAGE ON SCHEMA public TO ${user}`,
        {database},
      );
    const settings = {...server, database, user, password: 'mine'};

    await createPostgresTables(settings, cluster);
    await makeEarlier(settings);
    await (await openPostgresStore({settings, cluster, nodeId: 'alpha', nodeNo: 1})).close();

    const schema = right === 'owns the database' ? 'public' : user;
    t.deepEqual(await query("SELECT schemaname, viewowner FROM pg_views WHERE viewname = 'domain'", {database}), [
      {schemaname: schema, viewowner: user},
    ]);
    t.deepEqual(
      await query("SELECT rulename FROM pg_rules WHERE tablename = 'domain' AND rulename LIKE 'ignore%' ORDER BY 1", {database}),
      [{rulename: 'ignore_delete'}, {rulename: 'ignore_insert'}],
    );
  });

testWithPostgres('a schema of its own does not do without the extension, which its role may not create', async t => {
  const {query, createRole} = postgres();
  const settings = await emptyDatabase(postgres());
  await createRole('tenant', 'mine');
  await query('CREATE SCHEMA AUTHORIZATION tenant', {database: settings.database});

  await t.throwsAsync(inspectPostgres({...settings, user: 'tenant', password: 'mine'}, undefined), {
    message: /may not create the extension pg_trgm; as a superuser: CREATE EXTENSION pg_trgm in/,
  });
});

testWithPostgres(
  'a role that may only read and write the tables cannot start a node, nor upgrade them once it may create others',
  async t => {
    const {query, createRole} = postgres();
    const settings = await newCluster(postgres());
    await makeEarlier(settings);
    await createRole('writer', 'mine');
    const {database} = settings;
    await query('GRANT ALL ON ALL TABLES IN SCHEMA public TO writer; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO writer', {
      database,
    });
    const open = async () =>
      openPostgresStore({settings: {...settings, user: 'writer', password: 'mine'}, cluster, nodeId: 'alpha', nodeNo: 1});

    await t.throwsAsync(open(), {message: /permission denied for schema public/});
    await query('GRANT CREATE ON SCHEMA public TO writer', {database});
    await t.throwsAsync(open(), {message: /must be owner of table domain/});
  },
);

testWithPostgres('the tables may be in a schema whose name has capitals and hyphens', async t => {
  const settings = await emptyDatabase(postgres());
  const {database} = settings;
  await postgres().query('CREATE SCHEMA "Mail-Filter"', {database});
  await postgres().query(`ALTER DATABASE ${database} SET search_path TO "Mail-Filter", public`);

  await createPostgresTables(settings, cluster);

  t.true((await inspectPostgres(settings, cluster)).hasCluster);
  t.like(await postgres().query("SELECT schemaname FROM pg_tables WHERE tablename = 'config_record'", {database}), [
    {schemaname: 'Mail-Filter'},
  ]);
});

testWithPostgres('a wrong password and a missing database are said, without the password', async t => {
  const settings = await emptyDatabase(postgres());

  const wrong = await t.throwsAsync(inspectPostgres({...settings, password: 'guessed'}, undefined), {instanceOf: StoreRefusal});
  t.regex(wrong?.message ?? '', /does not let postgres in .*check store.password_file/);
  t.notRegex(wrong?.message ?? '', /guessed/);
  await t.throwsAsync(inspectPostgres({...settings, password: undefined}, undefined), {message: /store\.password_file/});
  await t.throwsAsync(inspectPostgres({...settings, database: 'missing'}, undefined), {
    message: /has no database missing; create it/,
  });
});

testWithPostgres('nothing that listens is said in one line', async t => {
  const settings = {...(await emptyDatabase(postgres())), port: 1};

  await t.throwsAsync(inspectPostgres(settings, undefined), {
    instanceOf: StoreRefusal,
    message: /^PostgreSQL at 127\.0\.0\.1:1 does not answer: nothing listens there; is it running/,
  });
});

testWithPostgres('fsync = off is refused, full_page_writes = off is a warning', async t => {
  const careless = await startPostgres(t, {settings: {fsync: 'off'}});
  const daring = await startPostgres(t, {settings: {full_page_writes: 'off'}});

  await t.throwsAsync(inspectPostgres(await emptyDatabase(careless), undefined), {
    instanceOf: StoreRefusal,
    message: /fsync = off/,
  });
  const {warnings} = await inspectPostgres(await emptyDatabase(daring), undefined);
  t.regex(warnings.join(), /full_page_writes = off/);
});

testWithPostgres('over TLS the certificate of the server must be signed by the authority that is named', async t => {
  const server = await startPostgres(t, {hasTls: true});
  const other = await startPostgres(t, {hasTls: true});
  const {readFile} = await import('node:fs/promises');
  const caOf = async (file: string | undefined) => readFile(file ?? '', 'utf8');
  const settings = {...(await emptyDatabase(server)), hasTls: true};

  t.false((await inspectPostgres({...settings, ca: await caOf(server.caFile)}, undefined)).hasCluster);
  await t.throwsAsync(inspectPostgres({...settings, ca: await caOf(other.caFile)}, undefined), {message: /store\.ca_file/});
  await t.throwsAsync(inspectPostgres(settings, undefined), {message: /certificate.*store\.ca_file/});
});

testWithPostgres('a server without TLS is not used where TLS is wanted', async t => {
  await t.throwsAsync(inspectPostgres({...(await emptyDatabase(postgres())), hasTls: true}, undefined), {
    message: /does not support SSL connections/,
  });
});
