import {existsSync} from 'node:fs';
import test from 'ava';
import {query} from '../../../../daemon/store/sql/db.ts';
import {testDatabase} from '../../../helpers/store.ts';

const insert = 'insert into local_state (name, value) values (?, ?) returning name';

test('a prepared statement takes other values each time, and keeps none', async t => {
  const {database} = await testDatabase(t);

  await query(database.write, insert, ['a', '1']);
  await query(database.write, insert, ['b', '2']);

  t.deepEqual(await query(database.write, 'select name, value from local_state where name in (?, ?) order by name', ['a', 'b']), [
    {name: 'a', value: '1'},
    {name: 'b', value: '2'},
  ]);
});

test('a statement that has failed works again', async t => {
  const {database} = await testDatabase(t);
  await query(database.write, insert, ['a', '1']);

  await t.throwsAsync(query(database.write, insert, ['a', '2']), {code: 'SQLITE_CONSTRAINT'});

  t.deepEqual(await query(database.write, insert, ['b', '2']), [{name: 'b'}]);
});

test('what could not be prepared is prepared again, and each of those that asked at once has the error', async t => {
  const {database} = await testDatabase(t);
  const read = () => query(database.write, 'select * from later');

  const answers = await Promise.allSettled([read(), read()]);
  await query(database.write, 'create table later (id integer primary key)');

  t.deepEqual(
    answers.map(answer => answer.status),
    ['rejected', 'rejected'],
  );
  t.deepEqual(await read(), []);
});

test('a prepared statement follows a change of the schema', async t => {
  const {database} = await testDatabase(t);
  await query(database.write, 'create table later (id integer primary key)');
  await query(database.write, 'insert into later default values');
  await query(database.write, 'select * from later');

  await query(database.write, "alter table later add column name text default 'a'");

  t.deepEqual(await query(database.write, 'select * from later'), [{id: 1, name: 'a'}]);
});

test('an error is told to who watches the database, as those of knex are', async t => {
  const {database} = await testDatabase(t);
  const errors: unknown[] = [];
  database.write.on('query-error', error => errors.push(error));

  const error = await t.throwsAsync(query(database.write, 'select * from missing'));

  t.deepEqual(errors, [error]);
});

test('what is asked of a database that is being closed is an error, and the database is closed', async t => {
  const {database} = await testDatabase(t);
  await query(database.write, 'select 1');

  const closed = database.close();
  const late = database.transaction(async tx => query(tx, 'select 2'));

  await t.throwsAsync(late);
  await t.notThrowsAsync(closed);
});

test('SQLite closes the database, and takes its log into it, though statements were prepared', async t => {
  const {database, filename} = await testDatabase(t);
  await query(database.write, insert, ['a', '1']);
  t.true(existsSync(`${filename}-wal`));

  await database.close();

  t.false(existsSync(`${filename}-wal`));
});
