import {join} from 'node:path';
import test from 'ava';
import knex from 'knex';
import {migrations} from '../../../../daemon/store/sqlite/migrations.ts';
import {openTestStore, testFolder} from '../../../helpers/store.ts';

const created_at = '2026-01-01T00:00:00.000Z';

test('nodes of a database of 0.4 are there, and say where their SMTP gateways listen once they have told', async t => {
  const filename = join(await testFolder(t), 'mfd.db');
  const earlier = knex({client: 'sqlite3', connection: {filename}, useNullAsDefault: true});
  const known = (await migrations.getMigrations([])).filter(one => migrations.getMigrationName(one) < '0007');
  const source = {...migrations, getMigrations: async () => known};
  await earlier.migrate.latest({migrationSource: source, tableName: 'schema_migration'});
  const node = {id: 1, node_id: 'alpha', fqdn: 'mx1.example.com', cluster_url: null, api_url: null, created_at};
  await earlier('node').insert(node);
  await earlier.destroy();

  const store = await openTestStore(filename);
  t.teardown(store.close);
  const before = await store.config.listNodes();
  await store.transaction(async tx => tx.records.show('node', [{...node, smtp_listen: '0.0.0.0:25'}]));

  t.deepEqual(before, [{...node, smtp_listen: null}]);
  t.like((await store.config.listNodes())[0], {node_id: 'alpha', smtp_listen: '0.0.0.0:25'});
});
