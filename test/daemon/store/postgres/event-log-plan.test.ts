import {dbOn, dialectOf} from '../../../../daemon/store/postgres/dialect.ts';
import {eventLog} from '../../../../daemon/store/sql/event-log.ts';
import {newCluster, storeOf} from '../../../helpers/common-store.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';

const postgres = usePostgres();
const count = 30_000;

testWithPostgres('what few entries have is found by its words, and the log is not read from its end', async t => {
  const settings = await newCluster(postgres());
  await storeOf(t, settings);
  const client = await postgres().connect(settings.database);
  t.teardown(async () => client.end());
  await client.query(
    `INSERT INTO mail_event (number, logged_by, node_id, at, folded_subject, entry, words)
     SELECT n, 'alpha', 'alpha', n, '', repeat('x', 500), ARRAY[1, n % 10, n % 1000, n + 10000] FROM generate_series(1, ${count}) AS n`,
  );
  await client.query('ANALYZE mail_event');
  let plan = '';
  const watched = {
    async query(sql: string, values: unknown[]) {
      const {rows} = await client.query<{'QUERY PLAN': string}>(`EXPLAIN (COSTS OFF) ${sql}`, values);
      plan = rows.map(row => row['QUERY PLAN']).join('\n');
      return {rows: []};
    },
  };
  const log = eventLog(dbOn(watched, dialectOf({nodeId: 'alpha', claimant: 'alpha'})));

  for (const filter of [
    {queue_id: 'Q1'},
    {message_id: '<m@example.com>'},
    {recipient: 'ben@example.com'},
    {sender: 'ada@example.net'},
  ]) {
    await log.find(filter, {kind: 'all'}, {limit: 1});
    t.regex(plan, /Bitmap Index Scan on mail_event_by_word/, Object.keys(filter).join());
  }
});
