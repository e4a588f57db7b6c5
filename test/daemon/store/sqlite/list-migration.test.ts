import {join} from 'node:path';
import test from 'ava';
import knex from 'knex';
import type {NewHeldMail} from '../../../../daemon/services/quarantine/stored-mail.ts';
import {holdStore} from '../../../../daemon/store/sql/hold-store.ts';
import {type Database, openDatabase} from '../../../../daemon/store/sqlite/database.ts';
import {createHeldQuery} from '../../../../daemon/store/sqlite/held-query.ts';
import {migrations} from '../../../../daemon/store/sqlite/migrations.ts';
import {asDb, type SqliteDb} from '../../../../daemon/store/sqlite/query.ts';
import {copyReadableRows} from '../../../../daemon/store/sqlite/readable-rows.ts';
import type {HoldFilter} from '../../../../shared/hold-filter.ts';
import {type Teardown, testFolder} from '../../../helpers/store.ts';
import {storedMail} from '../../../helpers/stored-mail.ts';

const all = {kind: 'all'} as const;

const mail = (n: number): NewHeldMail =>
  storedMail({
    queue_id: `Mail${String(n).padStart(6, '0')}`,
    sender: `sender${n % 3}@from.test`,
    subject: n % 2 === 0 ? `ÜBERWEISUNG ${n}` : `Invoice ${n}`,
    score: 8,
    arrived_at: new Date(Date.UTC(2026, 2, 1) + n * 1000).toISOString(),
  });

const discarded = {state: 'discarded', at: '2026-03-02T00:00:00.000Z', keyId: 7} as const;

/** The database before the migration `before`, with the rows that `fill` inserts. */
const earlierDatabase = async (t: Teardown, before: string, fill: (db: SqliteDb) => Promise<void>): Promise<string> => {
  const filename = join(await testFolder(t), 'mfd.db');
  const db = asDb(knex({client: 'sqlite3', connection: {filename}, useNullAsDefault: true}));
  const known = (await migrations.getMigrations([])).filter(one => migrations.getMigrationName(one) < before);
  await db.migrate.latest({
    migrationSource: {...migrations, getMigrations: async () => known},
    tableName: 'schema_migration',
  });
  // Rows are inserted as they are today.
  const later = [
    ['authentication', '0009'],
    ['from_addresses', '0015'],
  ].flatMap(([name, since = '']) => (since >= before ? [name] : []));
  for (const name of later) await db.raw(`ALTER TABLE held_mail ADD COLUMN ${name} text`);
  await fill(db);
  for (const name of later) await db.raw(`ALTER TABLE held_mail DROP COLUMN ${name}`);
  await db.destroy();
  return filename;
};

test('mail that was held before lists had tables of their own is found, counted and let go like any other', async t => {
  const filename = await earlierDatabase(t, '0004', async db => {
    await holdStore(db).insert(
      Array.from({length: 20}, (_, n) => mail(n)),
      'moved',
    );
    await holdStore(db).end([mail(3).queue_id], 'held', discarded, 'moved');
  });
  const database = await openDatabase(filename);
  t.teardown(database.close);
  const query = createHeldQuery(database.read, 'alpha');
  const found = async (filter: HoldFilter) => {
    const {mails, total} = await query.list(filter, all, {limit: 100, offset: 0});
    return [total, ...mails.map(({queue_id}) => Number(queue_id.slice(4)))];
  };

  const invoices = await found({subject: 'invoice'});
  const sixteenth = await found({subject: 'Überweisung 16'});
  const gone = await found({subject: 'invoice 3'});
  const everything = await found({});
  const ofOne = await found({sender: 'sender1@from.test'});
  await database.transaction(async tx => {
    await holdStore(tx).end([mail(5).queue_id], 'held', discarded);
    await holdStore(tx).insert([mail(21)]);
  });

  t.deepEqual(invoices, [9, 19, 17, 15, 13, 11, 9, 7, 5, 1]);
  t.deepEqual(sixteenth, [1, 16]);
  t.deepEqual(gone, [0]);
  t.is(everything[0], 19);
  t.deepEqual(ofOne, [7, 19, 16, 13, 10, 7, 4, 1]);
  t.deepEqual(await found({subject: 'invoice'}), [9, 21, 19, 17, 15, 13, 11, 9, 7, 1]);
  t.deepEqual(await found({subject: 'invoice 21'}), [1, 21]);
  t.deepEqual(await found({subject: 'invoice 5'}), [0]);
});

/** Objects that the migrations of 0.5 created beside the rows, to update counts, and to index subjects without positions. */
const madeBy05 = [
  'CREATE TABLE held_change (seq INTEGER PRIMARY KEY, queue_id TEXT NOT NULL, change INTEGER NOT NULL)',
  ...['in', 'moved', 'other', 'gone', 'struck'].map(
    name =>
      `CREATE TRIGGER held_change_${name} AFTER INSERT ON held_mail BEGIN INSERT INTO held_change (queue_id, change) VALUES (new.queue_id, 1); END`,
  ),
  `CREATE TRIGGER held_change_forgotten AFTER INSERT ON held_change WHEN new.seq % 1000 = 0
   BEGIN DELETE FROM held_change WHERE seq <= new.seq - 10000; END`,
  `CREATE VIRTUAL TABLE held_trigram USING fts5(folded_subject, content='held_subject', content_rowid='id',
   detail=none, columnsize=0, tokenize='trigram case_sensitive 1')`,
  'CREATE TABLE held_trigram_end (upto INTEGER NOT NULL)',
  'INSERT INTO held_trigram_end (upto) VALUES (0)',
  `CREATE TRIGGER held_trigram_in AFTER INSERT ON held_subject WHEN new.id % 256 = 0 BEGIN
     INSERT INTO held_trigram (rowid, folded_subject)
       SELECT id, folded_subject FROM held_subject WHERE id > (SELECT upto FROM held_trigram_end);
     UPDATE held_trigram_end SET upto = new.id;
   END`,
  `CREATE TRIGGER held_trigram_out AFTER DELETE ON held_subject BEGIN
     INSERT INTO held_trigram (held_trigram, rowid, folded_subject)
       SELECT 'delete', old.id, old.folded_subject FROM held_trigram_end WHERE old.id <= upto;
   END`,
];

test('mail that was held before headers were read is found by its sender at once, and by its author once the header is read', async t => {
  const filename = await earlierDatabase(t, '0015', async db => holdStore(db).insert([mail(1), mail(2)], 'moved'));
  const database = await openDatabase(filename);
  t.teardown(database.close);
  const query = createHeldQuery(database.read, 'alpha');
  const found = async (filter: HoldFilter) =>
    (await query.list(filter, all, {limit: 100, offset: 0})).mails.map(({from}) => from);

  t.deepEqual(await found({sender: 'from.test'}), [null, null]);
  t.deepEqual(await found({from: 'bank.test'}), []);
  t.deepEqual(await found({address: 'sender1@from.test'}), [null]);
  await database.transaction(async tx => holdStore(tx).writeFrom([{queueId: mail(1).queue_id, from: ['ceo@bank.test']}]));

  t.deepEqual(await found({from: 'bank.test'}), [['ceo@bank.test']]);
});

test('the repair of a database of an earlier version keeps its held mail', async t => {
  const filename = await earlierDatabase(t, '0009', async db => holdStore(db).insert([mail(1), mail(2)], 'moved'));

  const {rows, incomplete} = await copyReadableRows(filename, `${filename}.repaired`);

  t.is(rows.held_mail, 2);
  t.deepEqual(incomplete, []);
});

test('a database of 0.5 has its subjects in the new index, and what counts were moved by is gone', async t => {
  const filename = await earlierDatabase(t, '0008', async db => {
    for (const sql of madeBy05) await db.raw(sql);
    await holdStore(db).insert(
      Array.from({length: 300}, (_, n) => mail(n)),
      'moved',
    );
  });
  const database = await openDatabase(filename);
  t.teardown(database.close);
  const query = createHeldQuery(database.read, 'alpha');
  const totalOf = async (subject: string) => (await query.list({subject}, all, {limit: 10, offset: 0})).total;

  const before = [await totalOf('invoice'), await totalOf('überweisung 298')];
  await database.transaction(async tx => {
    await holdStore(tx).end([mail(1).queue_id], 'held', discarded);
    await holdStore(tx).insert([mail(300)]);
  });

  t.deepEqual(before, [150, 1]);
  t.deepEqual([await totalOf('invoice'), await totalOf('überweisung 300')], [149, 1]);
  await t.notThrowsAsync(async () => database.write.raw("INSERT INTO held_trigram (held_trigram) VALUES ('integrity-check')"));
  const fresh = await openDatabase(':memory:');
  t.teardown(fresh.close);
  const schemaOf = async ({write}: Database) =>
    (await write('sqlite_master').select('type', 'name', 'sql').orderBy(['type', 'name'])).map(({type, name, sql}) => [
      type,
      name,
      sql,
    ]);
  t.deepEqual(await schemaOf(database), await schemaOf(fresh));
});
