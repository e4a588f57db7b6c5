// Creation and upgrade of the tables.
import type {Knex} from 'knex';
import {migrations} from './migrations.ts';

const tableName = 'schema_migration';

/** The tables differ from those that the migrations made. */
export class OtherSchema extends Error {
  override name = 'OtherSchema';
}

/** Creates the tables, or upgrades those of an earlier version. Throws when a newer version made them, and an OtherSchema. */
export const migrate = async (db: Knex): Promise<void> => {
  await requireKnown(db);
  await db.migrate.latest({migrationSource: migrations, tableName});
};

const requireKnown = async (db: Knex): Promise<void> => {
  if (!(await db.schema.hasTable(tableName))) return;
  const applied: string[] = await db(tableName).pluck('name');
  const known = (await migrations.getMigrations([])).map(({name}) => name);
  const [unknown] = applied.filter(name => !known.includes(name));
  if (unknown === undefined) return;
  if (known.every(name => applied.includes(name)))
    throw new Error(
      `the database is that of a newer version of mfd (it has ${unknown}): start that version, or restore a backup`,
    );
  throw new OtherSchema(`no version of mfd has a migration ${unknown}`);
};
