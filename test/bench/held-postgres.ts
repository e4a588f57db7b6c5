// The held mails of `held-store.ts` in a PostgreSQL database of running nodes.
import type pg from 'pg';
import {type Filling, shapeRows, shapes, spanMs, symbols} from './held-store.ts';

type FillingOfAll = Pick<Filling, 'count' | 'newestMs'> & {
  /** Mails go to them in turn. */
  nodeIds: readonly string[];
};

export const fillPostgres = async (client: pg.Client, {count, newestMs, nodeIds}: FillingOfAll): Promise<void> => {
  await client.query('SET synchronous_commit = off');
  await client.query('CREATE TEMP TABLE shape (id bigint PRIMARY KEY, shape jsonb NOT NULL)');
  await client.query("INSERT INTO shape SELECT (value ->> 'id')::bigint, value FROM jsonb_array_elements($1::jsonb)", [
    JSON.stringify(shapeRows()),
  ]);
  await client.query('ANALYZE shape');
  // Created at the end, as in SQLite.
  const {rows: indexes} = await client.query<{indexname: string; indexdef: string}>(
    "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'held_mail' AND indexname <> 'held_mail_pkey'",
  );
  for (const {indexname} of indexes) await client.query(`DROP INDEX ${indexname}`);
  await client.query(mailsSql, [count - 1, newestMs / 1000, spanMs / 1e9, nodeIds]);
  await client.query(countsSql);
  for (const {indexdef} of indexes) await client.query(indexdef);
  // As autovacuum does it on a server that has had these mails for a while.
  for (const table of ['held_mail', 'held_count']) await client.query(`VACUUM ANALYZE ${table}`);
};

const numbered = (text: string) => `replace(replace(shape ->> '${text}', '#', n::text), '~', (n % 20000)::text)`;

const mailsSql = `
  INSERT INTO held_mail (node_id, queue_id, state, is_held, direction, domain, sender, from_addresses, recipients, subject, reason, symbols, client_ip,
    helo, sha256, arrived_at, sender_domain, folded_sender, from_domain, folded_from, folded_subject, folded_recipients,
    domain_id, is_utf8, is_eight_bit, score, size_bytes, keeper)
  SELECT ($4::text[])[1 + n % cardinality($4::text[])], 'bench' || lpad(n::text, 9, '0'), 'held', true, 'inbound', shape ->> 'domain',
    ${numbered('sender')}, json_build_array(${numbered('sender')})::text, shape ->> 'recipients', ${numbered('subject')}, shape ->> 'reason', '${symbols}', '192.0.2.1',
    'mail.example', '${'0'.repeat(64)}',
    to_char(to_timestamp($2::float8 - n * $3::float8) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    ${numbered('sender_domain')}, ${numbered('sender')}, ${numbered('sender_domain')}, ARRAY[${numbered('sender')}],
    ${numbered('folded_subject')},
    ARRAY(SELECT jsonb_array_elements_text((shape ->> 'recipients')::jsonb)), (shape ->> 'domain_id')::bigint, false, false,
    (shape ->> 'score')::float8, (shape ->> 'size_bytes')::bigint, 'store'
  FROM generate_series(0, $1::int) AS n JOIN shape ON shape.id = n::bigint * 7919 % ${shapes}`;

const countsSql = `
  INSERT INTO held_count (node_id, domain_id, domain, reason, count, size_bytes)
  SELECT node_id, domain_id, domain, reason, count(*), sum(size_bytes) FROM held_mail GROUP BY 1, 2, 3, 4`;
