// Searches that take long. A LIKE of the test's own stands for many mails: it waits for a lock of the test.
import type {ExecutionContext} from 'ava';
import type pg from 'pg';
import {SearchOverdue, usualSearchLimit} from '../../../../daemon/services/search-limits.ts';
import {openSearches} from '../../../../daemon/store/postgres/searches.ts';
import {openPostgresStore} from '../../../../daemon/store/postgres/store.ts';
import {cluster, newCluster} from '../../../helpers/common-store.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {storedMail} from '../../../helpers/stored-mail.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';

const postgres = usePostgres();
const all = {kind: 'all'} as const;
const page = {limit: 10, offset: 0};
const mail = storedMail({queue_id: 'Mail000001', arrived_at: '2026-03-01T12:00:00.000Z', subject: 'ab', score: 7});
const other = {...mail, queue_id: 'Mail000002'};

/** `CREATE OPERATOR` takes no name that is in use, unless the schema comes before the system's. */
const slowLike = (database: string) => `
CREATE FUNCTION public.slow_like(text, text) RETURNS boolean LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN textlike($1, $2); END $$;
CREATE OPERATOR public.~~ (LEFTARG = text, RIGHTARG = text, FUNCTION = public.slow_like);
ALTER DATABASE ${database} SET search_path = public, pg_catalog`;

const openSlow = async (t: ExecutionContext, withinMs: number) => {
  const settings = await newCluster(postgres());
  await postgres().query(slowLike(settings.database), {database: settings.database});
  const searchLimit = {...usualSearchLimit, withinMs};
  const store = await openPostgresStore({settings, cluster, nodeId: 'alpha', nodeNo: 1, searchLimit});
  t.teardown(store.close);
  await store.transaction(async tx => tx.hold.insert([mail]));
  const lock = await postgres().connect(settings.database);
  t.teardown(async () => lock.end());
  await lock.query('SELECT pg_advisory_lock(4711)');
  return {store, settings, lock};
};

const waitingSearches = async (lock: pg.Client): Promise<number> => {
  const {rows} = await lock.query(
    "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'",
  );
  return rows[0].count as number;
};

testWithPostgres('mail is held, listed and acted on while more searches run than the node has connections', async t => {
  const {store, settings, lock} = await openSlow(t, 60_000);
  const searches = Array.from({length: settings.pool * 3}, async () => store.heldQuery.list({subject: 'ab'}, all, page));
  await eventually(async () => (await waitingSearches(lock)) === 2);

  await store.transaction(async tx => tx.hold.insert([other]));
  t.is((await store.heldQuery.list({domain: 'one.test', reason: 'spam', node: 'alpha'}, all, page)).total, 2);
  t.is((await store.heldQuery.list({}, all, page)).total, 2);
  t.is((await store.heldQuery.groups({domain: 'one.test'}, all))[0]?.count, 2);
  t.deepEqual(
    [...(await store.transaction(async tx => tx.hold.claim(['Mail000002'], {state: 'releasing', keyId: 1})))].length,
    1,
  );

  t.is(await waitingSearches(lock), 2);
  await lock.query('SELECT pg_advisory_unlock(4711)');
  for (const {mails} of await Promise.all(searches)) t.true(mails.length >= 1);
});

testWithPostgres(
  'a search ends after its time with the advice to narrow it, on the server too, and the next one works',
  async t => {
    const {store, lock} = await openSlow(t, 300);

    const outcomes = await Promise.allSettled([
      ...[1, 2, 3, 4].map(async () => store.heldQuery.list({subject: 'ab'}, all, page)),
      store.heldQuery.groups({subject: 'ab'}, all),
    ]);

    for (const outcome of outcomes) {
      const fault: unknown = outcome.status === 'rejected' && outcome.reason;
      t.true(fault instanceof SearchOverdue && fault.status === 503 && /narrow the search/.test(fault.detail), String(fault));
    }
    t.is(await waitingSearches(lock), 0);
    await lock.query('SELECT pg_advisory_unlock(4711)');
    t.is((await store.heldQuery.list({subject: 'ab'}, all, page)).total, 1);
  },
);

testWithPostgres('the statements of a search see the same moment, and the next search sees what came meanwhile', async t => {
  const settings = await newCluster(postgres());
  const store = await openPostgresStore({settings, cluster, nodeId: 'alpha', nodeNo: 1});
  t.teardown(store.close);
  const searches = openSearches(settings, {...usualSearchLimit, atOnce: 1});
  t.teardown(searches.close);
  const count = 'SELECT count(*)::int AS count FROM held_mail';
  const seen = await searches.run(async connection => {
    const before = await connection.query(count, []);
    await store.transaction(async tx => tx.hold.insert([mail]));
    return [before.rows, (await connection.query(count, [])).rows];
  });

  t.deepEqual(seen, [[{count: 0}], [{count: 0}]]);
  await t.throwsAsync(searches.run(async connection => connection.query('SELECT nothing', [])));
  t.deepEqual(await searches.run(async connection => (await connection.query(count, [])).rows), [{count: 1}]);
});
