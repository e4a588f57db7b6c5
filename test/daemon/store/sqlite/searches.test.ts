// Searches that take long. A query without an end stands for one that reads very many mails.
import {open} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {SearchOverdue, usualSearchLimit} from '../../../../daemon/services/search-limits.ts';
import {query} from '../../../../daemon/store/sql/db.ts';
import {type Database, openDatabase} from '../../../../daemon/store/sqlite/database.ts';
import {createSqliteStore} from '../../../../daemon/store/sqlite/store.ts';
import type {HoldFilter} from '../../../../shared/hold-filter.ts';
import {type Teardown, testFolder} from '../../../helpers/store.ts';
import {storedMail} from '../../../helpers/stored-mail.ts';

const all = {kind: 'all'} as const;
const page = {limit: 10, offset: 0};
const mail = storedMail({queue_id: 'Mail000001', arrived_at: '2026-03-01T12:00:00.000Z', subject: 'ab', score: 7});

const openFor = async (t: Teardown, withinMs: number) => {
  const folder = await testFolder(t);
  const database = await openDatabase(join(folder, 'mfd.db'), {searchLimit: {...usualSearchLimit, withinMs}});
  t.teardown(database.close);
  const store = createSqliteStore(database);
  return {database, store, heldQuery: store.heldQuery('alpha'), folder};
};

const endless = async ({search}: Database): Promise<unknown> =>
  search(async db => query(db, 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n'));

/** The next search waits until these have ended. */
const occupy = (database: Database) => {
  let ended = 0;
  const searches = Array.from({length: 8}, async () => endless(database).finally(() => (ended += 1)));
  return {all: Promise.allSettled(searches), ended: () => ended};
};

test('mail is held, listed, acted on and written to files while searches take all of their time', async t => {
  const {database, store, heldQuery, folder} = await openFor(t, 4000);
  const searches = occupy(database);

  await store.transaction(async tx => tx.hold.insert([mail]));
  t.is((await heldQuery.list({domain: 'one.test', reason: 'spam', node: 'alpha'}, all, page)).total, 1);
  t.is((await heldQuery.list({}, all, page)).total, 1);
  t.is((await heldQuery.groups({domain: 'one.test'}, all)).length, 1);
  await store.transaction(async tx => tx.hold.claim(['Mail000001'], {state: 'releasing', keyId: 1}));
  for (const name of ['one', 'two', 'three']) {
    const file = await open(join(folder, name), 'w');
    await file.writeFile('a mail');
    await file.sync();
    await file.close();
  }

  t.is(searches.ended(), 0);
  const outcomes = await searches.all;
  t.true(outcomes.every(({status}) => status === 'rejected'));
});

test('a search ends after its time with the advice to narrow it, and the next one works', async t => {
  const {database, store, heldQuery} = await openFor(t, 100);
  await store.transaction(async tx => tx.hold.insert([mail]));

  const overdue = await t.throwsAsync(endless(database), {instanceOf: SearchOverdue});

  t.is(overdue?.status, 503);
  t.regex(overdue?.detail ?? '', /narrow the search/);
  t.is((await heldQuery.list({subject: 'ab'}, all, page)).total, 1);
  t.is(database.damage(), undefined);
});

test('all that a filter beside node, domain and reason reads is read on the connections of searches', async t => {
  const {database} = await openFor(t, 5000);
  let searched = 0;
  const search: Database['search'] = async work => {
    searched += 1;
    return database.search(work);
  };
  const heldQuery = createSqliteStore({...database, search}).heldQuery('alpha');
  const cursor = {arrived_at: mail.arrived_at, node_id: 'alpha', queue_id: mail.queue_id};
  const readAll = async (filter: HoldFilter): Promise<number> => {
    const before = searched;
    await heldQuery.list(filter, all, page);
    await heldQuery.groups(filter, all);
    await heldQuery.samples(filter, all, {offset: 0, stride: 1, limit: 1});
    await heldQuery.positionOf(filter, all, cursor);
    return searched - before;
  };

  const plain: HoldFilter[] = [{}, {domain: 'one.test'}, {reason: 'spam'}, {node: 'alpha', domain: 'one.test', reason: 'rbl'}];
  for (const filter of plain) t.is(await readAll(filter), 0, JSON.stringify(filter));
  const searches: HoldFilter[] = [
    {subject: 'ab'},
    {subject: 'abc', domain: 'one.test'},
    {sender: 'from.test'},
    {recipient: 'a@one.test'},
    {since: mail.arrived_at},
    {until: mail.arrived_at, reason: 'spam'},
    {min_score: 0},
    {max_score: 5, node: 'alpha'},
  ];
  for (const filter of searches) t.is(await readAll(filter), 4, JSON.stringify(filter));
});

test('what strangers have sent and reported is read on the connections of searches, as it may be much', async t => {
  const {database} = await openFor(t, 5000);
  let searched = 0;
  const search: Database['search'] = async work => {
    searched += 1;
    return database.search(work);
  };
  const {received, dmarc} = createSqliteStore({...database, search});
  const choice = {domain: 'one.test', since: '2026-03-01'};

  t.like(await received.reported({...choice, isVerified: false, without: []}), {count: 0, sources: []});
  t.like(await dmarc.summary({...choice, origin: 1}), {count: 0, sources: []});
  t.is(searched, 2);
  t.false(await received.isKnown('one.test'));
  t.is(searched, 2);
});

test('the statements of a search see the same moment, and the next search sees what came meanwhile', async t => {
  const {database, store} = await openFor(t, 5000);
  const count = 'SELECT count(*) AS count FROM held_mail';
  const seen = await database.search(async db => {
    const before = await query(db, count);
    await store.transaction(async tx => tx.hold.insert([mail]));
    return [before, await query(db, count)];
  });

  t.deepEqual(seen, [[{count: 0}], [{count: 0}]]);
  await t.throwsAsync(database.search(async db => query(db, 'SELECT nothing')));
  t.deepEqual(await database.search(async db => query(db, count)), [{count: 1}]);
});

test('an error after which SQLite has rolled back is told as it is, and the next search works', async t => {
  const {database} = await openFor(t, 5000);
  const failing = database.search(async db => {
    await query(db, 'ROLLBACK');
    throw new Error('disk I/O error');
  });

  await t.throwsAsync(failing, {message: 'disk I/O error'});
  t.deepEqual(await database.search(async db => query(db, 'SELECT 1 AS one')), [{one: 1}]);
});
