import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import knex from 'knex';
import {apply} from '../../../../daemon/replication/apply.ts';
import type {ConfigReads} from '../../../../daemon/services/ports.ts';
import {query} from '../../../../daemon/store/sql/db.ts';
import {migrations} from '../../../../daemon/store/sqlite/migrations.ts';
import {change, newFields, stampOf} from '../../../helpers/config-history.ts';
import {openTestStore, testFolder, testStore} from '../../../helpers/store.ts';

const someReads: Record<string, (config: ConfigReads) => Promise<unknown>> = {
  'a domain': async config => config.findDomain(1),
  'the filters of a domain': async config => config.listMailFilters([1]),
  'the DKIM keys of a domain': async config => config.listDkimKeys([1]),
  'a key by its hash': async config => config.findApiKey({key_hash: 'hash-1'}),
  'some keys': async config => config.listApiKeys([1, 2]),
  'a node': async config => config.findNode(1),
};

for (const [what, read] of Object.entries(someReads))
  test(`${what}: found with an index, without a look at all other records of the kind`, async t => {
    const {store} = await testStore(t);
    const seen: [sql: string, values: (string | number)[]][] = [];
    store.read.on('query', ({sql, bindings}) => seen.push([sql, bindings]));

    await read(store.config);

    const [sql, values] = seen[0] ?? ['', []];
    const plan = await query<{detail: string}>(store.read, `EXPLAIN QUERY PLAN ${sql}`, values);
    t.regex(plan.map(({detail}) => detail).join('\n'), /SEARCH config_record USING INDEX \w+ \(kind=\? AND \w+=\?\)/);
  });

test('a record that is not JSON is named with the remedy, and what is stored of it is not quoted', async t => {
  const {store} = await testStore(t);
  await store.transaction(async tx => apply(tx, [change('api_key', 7, stampOf(1), newFields.apiKey(1))], 1));
  await store.write('config_record').update({fields: 'hash-1'});

  const {message} = await t.throwsAsync(store.config.listApiKeys());

  t.regex(message, /^the record api_key 7 is damaged; .*mfd repair/);
  t.notRegex(message, /hash/);
});

test('the tables of 0.8 that had each live record a second time go with the upgrade and leave no secret, and what was in them is read', async t => {
  const filename = join(await testFolder(t), 'mfd.db');
  const earlier = knex({client: 'sqlite3', connection: {filename}, useNullAsDefault: true});
  const known = (await migrations.getMigrations([])).filter(one => migrations.getMigrationName(one) < '0013');
  const source = {...migrations, getMigrations: async () => known};
  await earlier.migrate.latest({migrationSource: source, tableName: 'schema_migration'});
  for (const kind of ['node', 'domain', 'api_key', 'mail_filter', 'dkim_key'])
    await earlier.schema.createTable(kind, table => {
      table.bigInteger('id').primary();
      table.text('private_key_pem');
    });
  // Several pages, which are free after the upgrade.
  for (let n = 1; n <= 20; n += 1) await earlier('dkim_key').insert({id: n, private_key_pem: 'a private key '.repeat(120)});
  const {kind, id, fields} = change('domain', 1, stampOf(1), newFields.domain('one.test'));
  const record = {kind, id, fields: JSON.stringify(fields), unique_key: 'one.test', digest: 'some'};
  await earlier('config_record').insert(record);
  await earlier.destroy();

  const store = await openTestStore(filename);
  t.teardown(store.close);
  await store.write.raw('PRAGMA wal_checkpoint(TRUNCATE)');

  t.false((await readFile(filename)).includes('a private key'));
  t.like(await store.config.findDomain(1), newFields.domain('one.test'));
  const tables: string[] = await store.read('sqlite_master').where({type: 'table'}).pluck('name');
  t.deepEqual(
    tables.filter(name => /^(node|domain|api_key|mail_filter|dkim_key)$/.test(name)),
    [],
  );
});
