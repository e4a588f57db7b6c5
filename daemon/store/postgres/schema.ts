// Tables of a cluster in PostgreSQL.
import type pg from 'pg';
import {digestTables} from '../sql/digest-store.ts';
import {dmarcTables, receivedTables, reportIndexes} from '../sql/dmarc-tables.ts';
import {recipientActTable} from '../sql/hold-store.ts';
import {requestTable} from '../sql/release-requests.ts';
import {webhookTables} from '../sql/webhook-store.ts';

interface Migration {
  name: string;
  sql: string;
}

/** Texts are compared byte by byte, as SQLite does. */
const text = 'text COLLATE "C"';

const configuration = `
CREATE TABLE local_state (name ${text} PRIMARY KEY, value ${text} NOT NULL);
CREATE TABLE config_record (
  kind ${text} NOT NULL, id bigint NOT NULL, fields ${text} NOT NULL, deleted ${text}, unique_key ${text}, parent_id bigint,
  digest ${text} NOT NULL, PRIMARY KEY (kind, id)
);
CREATE INDEX config_record_by_unique_key ON config_record (kind, unique_key);
CREATE INDEX config_record_by_parent ON config_record (kind, parent_id);
CREATE TABLE key_use (key_id bigint PRIMARY KEY, last_used_at ${text} NOT NULL);
CREATE TABLE outbox (seq bigint PRIMARY KEY, event ${text} NOT NULL);
CREATE TABLE last_commit (slot ${text} PRIMARY KEY, token ${text} NOT NULL, at timestamptz NOT NULL);`;

const nodes = `
CREATE TABLE join_token (id ${text} PRIMARY KEY, created_at ${text} NOT NULL, expires_at ${text} NOT NULL, used_at ${text});
CREATE TABLE issued_name (node_no bigint NOT NULL, host ${text} NOT NULL, PRIMARY KEY (node_no, host));
CREATE TABLE peer_report (node_no bigint PRIMARY KEY, last_seen ${text} NOT NULL, report ${text} NOT NULL);
CREATE TABLE node_presence (
  node_id ${text} PRIMARY KEY, node_no bigint NOT NULL, last_seen timestamptz NOT NULL, seq bigint NOT NULL, retention_ms ${text} NOT NULL
);
CREATE TABLE audit (
  node_id ${text} NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at ${text} NOT NULL, key_id bigint,
  action ${text} NOT NULL, target ${text} NOT NULL, remote_address ${text}, result ${text} NOT NULL, detail ${text} NOT NULL,
  hash ${text} NOT NULL
);
CREATE INDEX audit_by_time ON audit (at DESC, node_id, seq DESC);
CREATE INDEX audit_by_key ON audit (key_id);
CREATE INDEX audit_by_action ON audit (action);
CREATE INDEX audit_by_node ON audit (node_id, seq);`;

/** Columns of an index in the order of the list. */
const order = 'arrived_at DESC, node_id, queue_id';

const listIndexes = ['', 'domain_id', 'domain', 'reason', 'folded_sender', 'sender_domain', 'score']
  .map(
    column => `CREATE INDEX held_mail_by_${column || 'arrived'} ON held_mail (${column && `${column}, `}${order}) WHERE is_held;`,
  )
  .join('\n');

// Bytes are not compressed: most mail would not become smaller, and what does costs processor time on the only server.
const hold = `
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE TABLE held_mail (
  node_id ${text} NOT NULL, queue_id ${text} NOT NULL, state ${text} NOT NULL, is_held boolean NOT NULL, direction ${text} NOT NULL,
  domain ${text} NOT NULL, domain_id bigint NOT NULL, sender ${text} NOT NULL, sender_domain ${text} NOT NULL,
  folded_sender ${text} NOT NULL, recipients ${text} NOT NULL, subject ${text} NOT NULL, folded_subject ${text} NOT NULL,
  folded_recipients text[] COLLATE "C" NOT NULL, reason ${text} NOT NULL, symbols ${text} NOT NULL, score double precision NOT NULL, size_bytes bigint NOT NULL,
  arrived_at ${text} NOT NULL, is_utf8 boolean NOT NULL, is_eight_bit boolean NOT NULL, client_ip ${text} NOT NULL, helo ${text} NOT NULL,
  keeper ${text} NOT NULL, queued_at bigint, sha256 ${text} NOT NULL, acted_at ${text}, acted_by_key_id bigint,
  claimed_by ${text}, lease_until timestamptz, PRIMARY KEY (node_id, queue_id)
);
${listIndexes}
CREATE INDEX held_mail_by_subject ON held_mail USING gin (folded_subject gin_trgm_ops) WHERE is_held;
CREATE INDEX held_mail_by_recipient ON held_mail USING gin (folded_recipients) WHERE is_held;
CREATE INDEX held_mail_acted ON held_mail (acted_at) WHERE NOT is_held;
CREATE INDEX held_mail_claimed ON held_mail (lease_until) WHERE is_held AND state <> 'held';
CREATE INDEX held_mail_in_postfix ON held_mail (node_id) WHERE is_held AND keeper = 'postfix';
CREATE TABLE held_count (
  node_id ${text} NOT NULL, domain_id bigint NOT NULL, domain ${text} NOT NULL, reason ${text} NOT NULL, count bigint NOT NULL,
  size_bytes bigint NOT NULL, PRIMARY KEY (node_id, domain_id, domain, reason)
);
CREATE TABLE held_body (
  node_id ${text} NOT NULL, queue_id ${text} NOT NULL, part integer NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (node_id, queue_id, part)
);
ALTER TABLE held_body ALTER COLUMN bytes SET STORAGE EXTERNAL;`;

/**
 * Earlier versions stored each live record a second time, in tables with the names of the kinds. Their nodes may still run beside
 * this one: they find views of the records, with the same columns, and what they write to them is ignored, as they write the records
 * too. A rule is the only form that takes their INSERT … ON CONFLICT: views with triggers have no unique index, and an UPDATE rule would
 * forbid it. What they look for has a column with an index: reading it from the fields would parse all records of the kind.
 * Version 0.10 drops the views. A database that this version has created never had the tables.
 */
const readableViews = `
DO $$
DECLARE
  readable record;
BEGIN
  FOR readable IN
    SELECT relname AS kind, string_agg(
      CASE
        WHEN attname = 'id' THEN 'id'
        WHEN attname = 'key_hash' THEN 'unique_key AS key_hash'
        WHEN attname = 'domain_id' AND relname <> 'api_key' THEN 'parent_id AS domain_id'
        WHEN attname = 'updated_at' THEN $sql$(
          SELECT to_char(timestamp 'epoch' + ('x0000' || substr(max(write->>1), 1, 12))::bit(64)::bigint * interval '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
          FROM (SELECT value AS write FROM json_each(fields)) AS writes
        ) COLLATE "C" AS updated_at$sql$
        WHEN attname IN ('backend_servers', 'tenant_id') THEN format('(fields->%1$L->0)::text COLLATE "C" AS %1$I', attname)
        WHEN attcollation <> 0 THEN format('(fields->%1$L->>0) COLLATE "C" AS %1$I', attname)
        ELSE format('(fields->%1$L->>0)::%2$s AS %1$I', attname, format_type(atttypid, atttypmod))
      END, ', ' ORDER BY attnum) AS columns
    FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND relname IN ('node', 'domain', 'api_key', 'mail_filter', 'dkim_key')
      AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
    GROUP BY relname
  LOOP
    EXECUTE format('DROP TABLE %I', readable.kind);
    EXECUTE format(
      $sql$CREATE VIEW %1$I AS SELECT %2$s FROM (
        SELECT id, parent_id, unique_key, fields::json AS fields FROM config_record WHERE kind = %1$L AND digest <> ''
      ) AS live$sql$, readable.kind, readable.columns);
    EXECUTE format('CREATE RULE ignore_insert AS ON INSERT TO %I DO INSTEAD NOTHING', readable.kind);
    EXECUTE format('CREATE RULE ignore_delete AS ON DELETE TO %I DO INSTEAD NOTHING', readable.kind);
  END LOOP;
END $$;`;

/**
 * The addresses in the header From, and two columns for filters (see `foldFrom`). Nodes of 0.8 write mail without them: a job of other
 * nodes reads the headers, and the last index is what it has left.
 */
const headerFrom = `
ALTER TABLE held_mail ADD COLUMN from_addresses ${text}, ADD COLUMN from_domain ${text}, ADD COLUMN folded_from text[] COLLATE "C";
CREATE INDEX held_mail_by_from_domain ON held_mail (from_domain) WHERE is_held;
CREATE INDEX held_mail_by_from ON held_mail USING gin (folded_from) WHERE is_held;
CREATE INDEX held_mail_without_from ON held_mail (node_id, queue_id) WHERE is_held AND from_addresses IS NULL;`;

/**
 * `node_id` has or had the mail; `logged_by` wrote the entry, and its numbers only increase. They are given before the commit, so that one
 * may appear after a larger one: what follows the log reads it in the order of the transactions, see `../sql/event-stream.ts`.
 */
const mailEvents = `
CREATE TABLE mail_event_log (name ${text} PRIMARY KEY, value ${text} NOT NULL);
INSERT INTO mail_event_log VALUES ('epoch', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));
CREATE FUNCTION mail_event_order(transaction xid8) RETURNS xid8 LANGUAGE sql STABLE AS
  $$ SELECT (transaction::text::bigint + coalesce((SELECT value::bigint FROM mail_event_log WHERE name = 'base'), 0))::text::xid8 $$;
CREATE TABLE mail_event (
  number bigint NOT NULL, logged_by ${text} NOT NULL, node_id ${text} NOT NULL, at bigint NOT NULL, folded_subject ${text} NOT NULL,
  entry ${text} NOT NULL, words bigint[] NOT NULL, xid xid8 NOT NULL DEFAULT mail_event_order(pg_current_xact_id()),
  PRIMARY KEY (number, logged_by)
);
ALTER TABLE mail_event ALTER words SET STATISTICS 1000;
CREATE INDEX mail_event_in_order ON mail_event (xid, number);
CREATE INDEX mail_event_by_word ON mail_event USING gin (words);
CREATE INDEX mail_event_by_subject ON mail_event USING gin (folded_subject gin_trgm_ops);
CREATE INDEX mail_event_ahead ON mail_event ((number - at)) WHERE number - at > 60000000;`;

const webhookSenders = `
CREATE TABLE webhook_sender (logged_by ${text} PRIMARY KEY, holder ${text} NOT NULL, until timestamptz NOT NULL)`;

/** A released migration is never edited, except for parts that a later one replaces: add new ones below. */
const all: readonly Migration[] = [
  {name: '0001_first', sql: configuration + nodes + hold},
  {name: '0002_authentication', sql: `ALTER TABLE held_mail ADD COLUMN authentication ${text};`},
  {name: '0003_dmarc', sql: dmarcTables(text).join(';\n')},
  {name: '0004_received_reports', sql: receivedTables(text).join(';\n')},
  // The indexes of what is open and held stay: nodes of 0.8 need them.
  {name: '0005_own_reports', sql: reportIndexes.join(';\n')},
  {name: '0006_records_once', sql: readableViews},
  {name: '0007_audit_target', sql: 'CREATE INDEX audit_by_target ON audit (target);'},
  {name: '0008_header_from', sql: headerFrom},
  // For retention, which each domain and reason may have of its own.
  {
    name: '0009_retention',
    sql: 'CREATE INDEX held_mail_by_group ON held_mail (node_id, domain_id, reason, arrived_at) WHERE is_held;',
  },
  {name: '0010_mail_event', sql: mailEvents},
  {name: '0011_webhook', sql: [...webhookTables(text), webhookSenders].join(';\n')},
  {name: '0012_recipient_act', sql: recipientActTable(text, ['node_id'])},
  {name: '0013_digest', sql: digestTables(text, ['node_id']).join(';\n')},
  {name: '0014_release_request', sql: requestTable(text, ['node_id'])},
];

const table = 'schema_migration';

/** Whether the database has the tables of a cluster. */
export const hasTables = async (client: pg.ClientBase): Promise<boolean> => {
  const {rows} = await client.query<{is_there: boolean}>(`SELECT to_regclass('${table}') IS NOT NULL AS is_there`);
  return rows[0]?.is_there === true;
};

/** Migrations that a newer version has made. */
export const unknownMigrations = async (client: pg.ClientBase): Promise<string[]> =>
  (await appliedMigrations(client)).filter(name => !all.some(known => known.name === name));

/** Makes the tables, or upgrades those of an earlier version, in the caller's transaction. Nodes that start together take turns. */
export const migrate = async (client: pg.ClientBase): Promise<void> => {
  await client.query("SELECT pg_advisory_xact_lock(hashtext('mfd schema'))");
  await client.query(`CREATE TABLE IF NOT EXISTS ${table} (name ${text} PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())`);
  const applied = await appliedMigrations(client);
  for (const {name, sql} of all) {
    if (applied.includes(name)) continue;
    await client.query(sql);
    await client.query(`INSERT INTO ${table} (name) VALUES ($1)`, [name]);
  }
};

const appliedMigrations = async (client: pg.ClientBase): Promise<string[]> =>
  (await client.query<{name: string}>(`SELECT name FROM ${table}`)).rows.map(({name}) => name);
