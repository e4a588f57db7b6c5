import {dbOn, dialectOf} from '../../../../daemon/store/postgres/dialect.ts';
import {createCommonHeldQuery} from '../../../../daemon/store/postgres/held-query.ts';
import {newCluster, storeOf} from '../../../helpers/common-store.ts';
import {storedMail} from '../../../helpers/stored-mail.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';

const postgres = usePostgres();
const mail = storedMail({
  queue_id: 'Mail000001',
  from: ['ceo@bank.test'],
  subject: 'x',
  score: 7,
  arrived_at: '2026-03-01T12:00:00.000Z',
});

testWithPostgres('mail by the domain of its author is counted in an index alone', async t => {
  const settings = await newCluster(postgres());
  const store = await storeOf(t, settings);
  await store.transaction(async tx => tx.hold.insert([mail]));
  const client = await postgres().connect(settings.database);
  t.teardown(async () => client.end());
  // One mail is no reason for an index.
  await client.query('SET enable_seqscan = off; SET enable_bitmapscan = off');
  const seen: [sql: string, values: unknown[]][] = [];
  const watched = {
    query: async (sql: string, values: unknown[]) => {
      seen.push([sql, values]);
      return client.query(sql, values);
    },
  };
  const db = dbOn(watched, dialectOf({nodeId: 'alpha', claimant: 'alpha'}));

  await createCommonHeldQuery(db).list({from: 'bank.test'}, {kind: 'all'}, {limit: 10, offset: 0});

  const [[sql, values] = ['', []]] = seen;
  const {rows} = await client.query<{'QUERY PLAN': string}>(`EXPLAIN (COSTS OFF) ${sql}`, values);
  const plan = rows.map(row => row['QUERY PLAN']);
  t.true(
    plan.some(line => line.includes('Index Only Scan using held_mail_by_from_domain')),
    plan.join('\n'),
  );
});
