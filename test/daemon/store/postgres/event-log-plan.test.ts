import type {ExecutionContext} from 'ava';
import type pg from 'pg';
import {dbOn, dialectOf} from '../../../../daemon/store/postgres/dialect.ts';
import {eventLog} from '../../../../daemon/store/sql/event-log.ts';
import type {TraceFilter} from '../../../../shared/hold-filter.ts';
import {newCluster, storeOf} from '../../../helpers/common-store.ts';
import {append, relayedEvent} from '../../../helpers/mail-event.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';

const postgres = usePostgres();
const count = 30_000;

const openLog = async (t: ExecutionContext) => {
  const settings = await newCluster(postgres());
  const store = await storeOf(t, settings);
  const client = await postgres().connect(settings.database);
  t.teardown(async () => client.end());
  return {store, client};
};

/** How PostgreSQL would look for what `filter` selects. */
const planOf = async (client: pg.Client, filter: TraceFilter): Promise<string> => {
  let plan = '';
  const watched = {
    async query(sql: string, values: unknown[]) {
      const {rows} = await client.query<{'QUERY PLAN': string}>(`EXPLAIN (COSTS OFF) ${sql}`, values);
      plan = rows.map(row => row['QUERY PLAN']).join('\n');
      return {rows: []};
    },
  };
  await eventLog(dbOn(watched, dialectOf({nodeId: 'alpha', claimant: 'alpha'}))).find(filter, {kind: 'all'}, {limit: 1});
  return plan;
};

testWithPostgres('what few entries have is found by its words, and the log is not read from its end', async t => {
  const {client} = await openLog(t);
  await client.query(
    `INSERT INTO mail_event (number, logged_by, node_id, at, folded_subject, entry, words)
     SELECT n, 'alpha', 'alpha', n, '', repeat('x', 500), ARRAY[1, n % 10, n % 1000, n + 10000] FROM generate_series(1, ${count}) AS n`,
  );
  await client.query('ANALYZE mail_event');

  for (const filter of [
    {queue_id: 'Q1'},
    {message_id: '<m@example.com>'},
    {recipient: 'ben@example.com'},
    {sender: 'ada@example.net'},
  ])
    t.regex(await planOf(client, filter), /Bitmap Index Scan on mail_event_by_word/, Object.keys(filter).join());
});

testWithPostgres('frequent words that never meet are looked for by their index', async t => {
  const {store, client} = await openLog(t);
  await append(
    store,
    relayedEvent(1, {domain: 'many.test'}),
    relayedEvent(2, {domain: 'many.test', event: 'rejected'}),
    relayedEvent(3, {domain: 'some.test'}),
  );
  const {rows} = await client.query<{words: string[]}>('SELECT words::text[] AS words FROM mail_event ORDER BY at');
  await client.query(
    `INSERT INTO mail_event (number, logged_by, node_id, at, folded_subject, entry, words)
     SELECT n, 'alpha', 'alpha', n, '', repeat('x', 500),
       CASE WHEN n % 20 = 0 THEN $3::bigint[] WHEN n % 5 = 1 THEN $2 ELSE $1 END FROM generate_series(1, ${count}) AS n`,
    rows.map(({words}) => words),
  );
  await client.query('ANALYZE mail_event');

  for (const filter of [
    {domain: 'some.test', event: ['rejected']},
    {domain: 'some.test', event: ['rejected'], since: '1970-01-01T00:00:00.001Z'},
  ] satisfies TraceFilter[])
    t.regex(await planOf(client, filter), /Bitmap Index Scan on mail_event_by_word/);
});
