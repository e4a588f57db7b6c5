import {setTimeout as delay} from 'node:timers/promises';
import type {ExecutionContext} from 'ava';
import {createKeys} from '../../../daemon/services/access/keys.ts';
import {type CommonNode, startCommonNode} from '../../helpers/common-node.ts';
import {newCluster} from '../../helpers/common-store.ts';
import {eventually} from '../../helpers/eventually.ts';
import type {PostgresServer} from '../../helpers/postgres-server.ts';
import {startPostgres} from '../../helpers/postgres-server.ts';
import {testWithPostgres, usePostgres} from '../../helpers/test-with-postgres.ts';

const postgres = usePostgres();

const startPair = async (t: ExecutionContext, options: {notifies?: boolean} = {}) => {
  const settings = await newCluster(postgres());
  const alpha = await startCommonNode(t, settings, options);
  const beta = await startCommonNode(t, settings, {...options, nodeId: 'beta', nodeNo: 2});
  await eventually(() => alpha.connection.isReachable() && beta.connection.isReachable(), 3000);
  return {alpha, beta};
};

const hasDomain = ({domains}: CommonNode, name: string) => eventually(() => domains.findByName(name) !== undefined, 5000);

testWithPostgres(
  'a change of one node is in the memory of another at once, and within a second without a notification',
  async t => {
    const {alpha, beta} = await startPair(t);
    const silent = await startPair(t, {notifies: false});

    await alpha.addDomain('told.test');
    const toldAt = performance.now();
    await hasDomain(beta, 'told.test');
    t.true(performance.now() - toldAt < 500);

    await silent.alpha.addDomain('polled.test');
    const polledAt = performance.now();
    await hasDomain(silent.beta, 'polled.test');
    t.true(performance.now() - polledAt < 1500);
  },
);

testWithPostgres('a change of this node is published once, and one of another process of it as well', async t => {
  const settings = await newCluster(postgres());
  const alpha = await startCommonNode(t, settings);
  const other = await startCommonNode(t, settings);
  await eventually(() => alpha.connection.isReachable() && other.connection.isReachable(), 3000);

  await alpha.addDomain('own.test');
  const {seq} = await eventually(() => alpha.follower.position().seq > 0 && alpha.follower.position(), 3000);
  await delay(1200);
  t.is(seq, 1);
  t.is(alpha.published.length, 1);

  await other.addDomain('other.test');
  await hasDomain(alpha, 'other.test');
  t.is(alpha.published.length, 2);
});

testWithPostgres('what is in memory has the hash of the store, also after a domain and all of its parts are deleted', async t => {
  const {alpha, beta} = await startPair(t);
  const id = await alpha.addDomain('gone.test');
  await hasDomain(beta, 'gone.test');

  await alpha.configuration.change(async tx => tx.remove('domain', id));
  await eventually(() => beta.domains.findById(id) === undefined, 3000);

  const {config_hash} = await alpha.store.config.configHash();
  await eventually(() => [alpha, beta].every(({follower}) => follower.position().config_hash === config_hash), 3000);
  t.is(beta.follower.position().seq, 2);
});

testWithPostgres('a node notes that it lives, and the number that it has in memory', async t => {
  const {alpha, beta} = await startPair(t);

  await alpha.addDomain('a.test');
  const seqs = async () => (await alpha.store.presence()).map(({node_id, seq}) => `${node_id} ${seq}`).join();
  await eventually(async () => (await seqs()) === 'alpha 1,beta 1', 3000);

  t.true((await beta.store.presence()).every(({ageSeconds}) => ageSeconds < 5));
});

testWithPostgres('a database that was replaced by an older copy is read again, and what has vanished is forgotten', async t => {
  const settings = await newCluster(postgres());
  const alpha = await startCommonNode(t, settings);
  await alpha.addDomain('kept.test');
  await copyDatabase(postgres(), settings.database);
  await eventually(async () => alpha.addDomain('lost.test').catch(() => undefined), 5000);
  await alpha.addGlobalFilter();
  await eventually(() => alpha.follower.position().seq === 3, 5000);
  const keptId = alpha.domains.findByName('kept.test')?.id ?? 0;
  t.is(alpha.domains.filtersOf(keptId).filters.length, 1);

  await restoreCopy(postgres(), settings.database);
  await eventually(() => alpha.follower.position().seq === 1, 10_000);

  t.is(alpha.domains.findByName('lost.test'), undefined);
  t.is(alpha.domains.findByName('kept.test')?.id, keptId);
  t.deepEqual(alpha.domains.filtersOf(keptId).filters, []);
  t.is(alpha.follower.position().config_hash, (await alpha.store.config.configHash()).config_hash);
});

testWithPostgres('a node without its database trusts no key for longer than 5 s, and does again when it is back', async t => {
  const server = await startPostgres(t);
  const settings = await newCluster(server);
  const alpha = await startCommonNode(t, settings);
  await eventually(() => alpha.connection.isReachable(), 3000);
  const {store, configuration, keyDirectory: directory, domains, connection} = alpha;
  const keys = createKeys({
    ...{store, configuration, directory, domains, nodeId: 'alpha', now: Date.now},
    awaitReplication: async () => [],
    requireFresh: connection.requireFresh,
  });
  const made = await keys.create({keyId: null, scope: 'full-admin', reach: {kind: 'all'}, remoteAddress: null} as never, {
    name: 'a key',
    scope: 'full-admin',
  });
  t.is((await keys.identify(made.key)).id, made.id);

  await server.stop('immediate');
  await eventually(() => !connection.isReachable(), 3000);
  await delay(5100);
  const fault = await t.throwsAsync(keys.identify(made.key), {code: 'unavailable'});
  t.like(fault, {status: 503, details: {retryAfterSeconds: 2}});

  await server.start();
  await eventually(() => connection.isReachable(), 5000);
  t.is((await keys.identify(made.key)).id, made.id);
  t.deepEqual(alpha.log, ['lost', 'back']);
});

const endSessions = async ({query}: PostgresServer, database: string): Promise<void> => {
  await query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', {values: [database]});
};

/** PostgreSQL copies and renames only databases that nobody is connected to. */
const whileClosed = async (server: PostgresServer, database: string, statements: string[]): Promise<void> => {
  await server.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
  await endSessions(server, database);
  for (const statement of statements) await eventually(async () => server.query(statement).catch(() => undefined), 5000);
};

const copyDatabase = async (server: PostgresServer, database: string): Promise<void> =>
  whileClosed(server, database, [
    `CREATE DATABASE ${database}_old TEMPLATE ${database}`,
    `ALTER DATABASE ${database} ALLOW_CONNECTIONS true`,
  ]);

const restoreCopy = async (server: PostgresServer, database: string): Promise<void> =>
  whileClosed(server, database, [
    `DROP DATABASE ${database}`,
    `ALTER DATABASE ${database}_old RENAME TO ${database}`,
    `ALTER DATABASE ${database} ALLOW_CONNECTIONS true`,
  ]);
