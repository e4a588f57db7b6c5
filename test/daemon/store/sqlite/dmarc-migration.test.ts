import {join} from 'node:path';
import test from 'ava';
import knex from 'knex';
import {query} from '../../../../daemon/store/sql/db.ts';
import {migrations} from '../../../../daemon/store/sqlite/migrations.ts';
import {mailCount} from '../../../helpers/dmarc.ts';
import {openTestStore, testFolder, testStore} from '../../../helpers/store.ts';

const counted = mailCount(1);
const row = {
  ...counted,
  ...{details: JSON.stringify(counted.details), policy: JSON.stringify(counted.policy)},
  ...{
    origin: 1,
    batch: 'b1',
    holder: 1,
    held_at: '2026-03-02T01:00:00.000Z',
    is_offered: false,
    is_confirmed: true,
    report: null,
  },
};

/** Counts as node 1 of version 0.8 has stored them. */
const rows = [
  {...row, digest: 'open', batch: '', holder: null, held_at: null, is_confirmed: false},
  {...row, digest: 'kept'},
  {...row, digest: 'reported', report: '2026-03-01.bank.test.00000000@example.com'},
  {...row, digest: 'of node 2', batch: 'b2', origin: 2},
  {...row, digest: 'for node 2, not offered', batch: 'b3', holder: 2, is_confirmed: false},
  {...row, digest: 'offered to node 2', batch: 'b4', holder: 2, is_offered: true, is_confirmed: false},
  {...row, digest: 'with node 2', batch: 'b5', holder: 2, is_offered: true},
];

test('of the counts of 0.8, a node reports those that others gave to it, and its own that no other node can have got', async t => {
  const filename = join(await testFolder(t), 'mfd.db');
  const earlier = knex({client: 'sqlite3', connection: {filename}, useNullAsDefault: true});
  const known = (await migrations.getMigrations([])).filter(one => migrations.getMigrationName(one) < '0012');
  const source = {...migrations, getMigrations: async () => known};
  await earlier.migrate.latest({migrationSource: source, tableName: 'schema_migration'});
  await earlier('dmarc_count').insert(rows);
  await earlier.destroy();

  const store = await openTestStore(filename);
  t.teardown(store.close);
  const subjects = await store.dmarc.unreported('2026-03-02');
  const claimed = await store.transaction(async tx => tx.dmarc.claim({day: '2026-03-01', policy_domain: 'bank.test'}, 'b6'));

  t.deepEqual(subjects, [{day: '2026-03-01', policy_domain: 'bank.test'}]);
  t.deepEqual(
    claimed.map(({digest, batch}) => [digest, batch]),
    [
      ['for node 2, not offered', 'b3'],
      ['kept', 'b1'],
      ['of node 2', 'b2'],
      ['open', 'b6'],
    ],
  );
});

test('what is to be reported is found without a look at the many counts that never are', async t => {
  const {store} = await testStore(t, {isDurable: false});
  const seen: string[] = [];
  store.read.on('query', ({sql}) => void seen.push(sql));

  await store.dmarc.unreported('2026-03-02');
  await store.dmarc.reportedCounts('some id');

  const plans = await Promise.all(
    [...seen].map(async sql => query<{detail: string}>(store.read, `EXPLAIN QUERY PLAN ${sql}`, ['2026-03-02'])),
  );
  t.deepEqual(
    plans.map(([first]) => first?.detail),
    [
      'SEARCH dmarc_count USING INDEX dmarc_count_unreported (day<?)',
      'SEARCH dmarc_count USING INDEX dmarc_count_reported (report=?)',
    ],
  );
});
