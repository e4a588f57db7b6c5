import {join} from 'node:path';
import test from 'ava';
import knex, {type Knex} from 'knex';
import {openDatabase} from '../../../../daemon/store/sqlite/database.ts';
import {insertHeldMails} from '../../../../daemon/store/sqlite/held-arrival.ts';
import {endLife, type NewHeldMail} from '../../../../daemon/store/sqlite/held-mail.ts';
import {createHeldQuery} from '../../../../daemon/store/sqlite/held-query.ts';
import {migrations} from '../../../../daemon/store/sqlite/migrations.ts';
import type {HoldFilter} from '../../../../shared/hold-filter.ts';
import {type Teardown, testFolder} from '../../../helpers/database.ts';
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

/** As it was made before lists had tables of their own, with what `fill` puts in. */
const earlierDatabase = async (t: Teardown, fill: (db: Knex) => Promise<void>): Promise<string> => {
  const filename = join(await testFolder(t), 'mfd.db');
  const db = knex({client: 'sqlite3', connection: {filename}, useNullAsDefault: true});
  const known = (await migrations.getMigrations([])).filter(one => migrations.getMigrationName(one) < '0004');
  await db.migrate.latest({
    migrationSource: {...migrations, getMigrations: async () => known},
    tableName: 'schema_migration',
  });
  await fill(db);
  await db.destroy();
  return filename;
};

test('mail that was held before lists had tables of their own is found, counted and let go like any other', async t => {
  const filename = await earlierDatabase(t, async db => {
    await insertHeldMails(
      db,
      Array.from({length: 20}, (_, n) => mail(n)),
    );
    await endLife(db, mail(3).queue_id, 'held', discarded);
  });
  const database = await openDatabase(filename);
  t.teardown(database.close);
  const query = createHeldQuery(database, 'alpha');
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
    await endLife(tx, mail(5).queue_id, 'held', discarded);
    await insertHeldMails(tx, [mail(21)]);
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
