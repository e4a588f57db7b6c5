import type {Knex} from 'knex';
import {digestTables} from '../sql/digest-store.ts';
import {dmarcTables, receivedTables, reportIndexes} from '../sql/dmarc-tables.ts';
import {recipientActTable} from '../sql/hold-store.ts';
import {requestTable} from '../sql/release-requests.ts';
import {webhookTables} from '../sql/webhook-store.ts';
import {addHeaderFrom, addListIndexes, indexTrigrams} from './list-migration.ts';

interface Migration {
  name: string;
  up(db: Knex): Promise<void>;
}

/** A released migration is never edited, except for parts that a later one replaces: add new migrations below. */
const all: Migration[] = [
  {name: '0001_first', up: first},
  {name: '0002_cluster', up: cluster},
  {name: '0003_keepers', up: keepers},
  {name: '0004_lists', up: addListIndexes},
  {name: '0005_subjects', up: async () => {}},
  {name: '0006_issued_names', up: issuedNames},
  {name: '0007_smtp_listen', up: async () => {}},
  {name: '0008_trigrams', up: indexTrigrams},
  {name: '0009_authentication', up: authentication},
  {name: '0010_dmarc', up: dmarc},
  {name: '0011_received_reports', up: receivedReports},
  {name: '0012_own_reports', up: ownReports},
  {name: '0013_records_once', up: dropReadableTables},
  {name: '0014_audit_target', up: auditTarget},
  {name: '0015_header_from', up: addHeaderFrom},
  {name: '0016_mail_event', up: mailEvent},
  {name: '0017_webhook', up: webhooks},
  {name: '0018_recipient_act', up: async db => db.raw(recipientActTable('text', []))},
  {name: '0019_digest', up: digests},
  {name: '0020_release_request', up: async db => db.raw(requestTable('text', []))},
];

export const migrations: Knex.MigrationSource<Migration> = {
  getMigrations: async () => all,
  getMigrationName: ({name}) => name,
  getMigration: async ({up}) => ({up, down: async () => Promise.reject(new Error('migrations only go forward'))}),
};

async function first(db: Knex): Promise<void> {
  await createConfiguration(db);
  await createHold(db);
  await db.schema.createTable('audit', table => {
    table.bigIncrements('seq');
    table.text('at').notNullable().index();
    table.bigInteger('key_id').index();
    table.text('action').notNullable().index();
    table.text('target').notNullable();
    table.text('remote_address');
    table.text('result').notNullable();
    table.text('detail').notNullable();
    table.text('hash').notNullable();
  });
}

async function createConfiguration(db: Knex): Promise<void> {
  await db.schema.createTable('local_state', table => {
    table.text('name').primary();
    table.text('value').notNullable();
  });
  await db.schema.createTable('config_record', table => {
    table.text('kind').notNullable();
    table.bigInteger('id').notNullable();
    table.text('fields').notNullable();
    table.text('deleted');
    table.text('unique_key');
    table.bigInteger('parent_id');
    table.text('digest').notNullable();
    table.primary(['kind', 'id']);
    table.index(['kind', 'unique_key']);
    table.index(['kind', 'parent_id']);
  });
  await db.schema.createTable('key_use', table => {
    table.bigInteger('key_id').primary();
    table.text('last_used_at').notNullable();
  });
  await db.schema.createTable('outbox', table => {
    table.bigIncrements('seq');
    table.text('event').notNullable();
  });
}

async function createHold(db: Knex): Promise<void> {
  await db.schema.createTable('held_mail', table => {
    table.text('queue_id').primary();
    table.text('state').notNullable();
    table.boolean('is_held').notNullable();
    for (const name of ['direction', 'domain', 'sender', 'recipients', 'subject', 'reason', 'symbols'])
      table.text(name).notNullable();
    for (const name of ['client_ip', 'helo', 'sha256', 'arrived_at']) table.text(name).notNullable();
    table.text('sender_domain').notNullable();
    table.text('folded_sender').notNullable();
    table.text('folded_subject').notNullable();
    table.bigInteger('domain_id').notNullable();
    table.boolean('is_utf8').notNullable();
    table.boolean('is_eight_bit').notNullable();
    table.double('score').notNullable();
    table.bigInteger('size_bytes').notNullable();
    table.text('acted_at');
    table.bigInteger('acted_by_key_id');
  });
  // One index per filter, for held mail only. Each index includes the order of the list.
  const order = 'arrived_at DESC, queue_id';
  const held: [string, string][] = [
    ['arrived', order],
    ['domain_id', `domain_id, ${order}`],
    ['domain', `domain, ${order}`],
    ['sender', `folded_sender, ${order}`],
    ['sender_domain', `sender_domain, ${order}`],
    ['reason', `reason, ${order}`],
    ['score', `score, ${order}`],
    ['group', 'domain_id, domain, reason, arrived_at'],
  ];
  for (const [name, columns] of held) await db.raw(`CREATE INDEX held_mail_by_${name} ON held_mail (${columns}) WHERE is_held`);
  await db.raw('CREATE INDEX held_mail_acted ON held_mail (acted_at) WHERE NOT is_held');

  await db.schema.createTable('held_recipient', table => {
    table.text('queue_id').notNullable().references('queue_id').inTable('held_mail').onDelete('CASCADE').index();
    table.text('recipient').notNullable();
    table.primary(['recipient', 'queue_id']);
  });
  // Updated in the same transactions as held_mail: counting its rows takes longer as the queue grows.
  await db.schema.createTable('held_count', table => {
    table.bigInteger('domain_id').notNullable();
    table.text('domain').notNullable();
    table.text('reason').notNullable();
    table.bigInteger('count').notNullable();
    table.bigInteger('size_bytes').notNullable();
    table.primary(['domain_id', 'domain', 'reason']);
  });
}

/** State for replication: events that were applied and events that peers have received. */
async function cluster(db: Knex): Promise<void> {
  await db.schema.createTable('applied', table => {
    table.bigInteger('origin').primary();
    table.bigInteger('seq').notNullable();
  });
  await db.schema.createTable('peer_report', table => {
    table.bigInteger('node_no').primary();
    table.text('last_seen').notNullable();
    table.text('report').notNullable();
  });
  await db.schema.createTable('join_token', table => {
    table.text('id').primary();
    table.text('created_at').notNullable();
    table.text('expires_at').notNullable();
    table.text('used_at');
  });
  // The sequence of the outbox is stored separately now, as it continues when rows are removed. No event has been sent yet.
  const row = await db('outbox').max({last: 'seq'}).min({first: 'seq'}).first<{last: number | null; first: number | null}>();
  if (row?.last) {
    await db('local_state').insert({name: 'sequence:outbox', value: String(row.last)});
    await db('local_state').insert({name: 'outbox_floor', value: String(Number(row.first) - 1)});
  }
}

/** Held mail may be in Postfix's hold queue. */
async function keepers(db: Knex): Promise<void> {
  await db.schema.alterTable('held_mail', table => {
    table.text('keeper').notNullable().defaultTo('spool');
    table.bigInteger('queued_at');
  });
  await db.raw("CREATE INDEX held_mail_in_postfix ON held_mail (queue_id) WHERE is_held AND keeper = 'postfix'");
}

/** Names that the authority has put into certificates. */
async function issuedNames(db: Knex): Promise<void> {
  await db.schema.createTable('issued_name', table => {
    table.bigInteger('node_no').notNullable();
    table.text('host').notNullable();
    table.primary(['node_no', 'host']);
  });
}

/** Results of SPF, DKIM and DMARC. */
async function authentication(db: Knex): Promise<void> {
  await db.schema.alterTable('held_mail', table => {
    table.text('authentication');
  });
}

async function dmarc(db: Knex): Promise<void> {
  for (const sql of dmarcTables('text')) await db.raw(sql);
}

async function receivedReports(db: Knex): Promise<void> {
  for (const sql of receivedTables('text')) await db.raw(sql);
}

async function ownReports(db: Knex): Promise<void> {
  for (const sql of [...reportIndexes, 'DROP INDEX dmarc_count_open', 'DROP INDEX dmarc_count_held']) await db.raw(sql);
}

async function auditTarget(db: Knex): Promise<void> {
  await db.raw('CREATE INDEX audit_target_index ON audit (target)');
}

/** Earlier versions stored each live record a second time. A database that this version has created never had these tables. */
async function dropReadableTables(db: Knex): Promise<void> {
  // FAST does not overwrite whole pages: private keys would stay readable in them, even after their domains are deleted.
  await db.raw('PRAGMA secure_delete = ON');
  for (const kind of ['node', 'domain', 'api_key', 'mail_filter', 'dkim_key']) await db.schema.dropTableIfExists(kind);
  await db.raw('PRAGMA secure_delete = FAST');
}

/** The words of an entry are only indexed; the number of the entry is their row id. A repaired database has a log of its own epoch. */
async function mailEvent(db: Knex): Promise<void> {
  await db.raw(
    `CREATE TABLE mail_event (
       number INTEGER PRIMARY KEY, at INTEGER NOT NULL, folded_subject TEXT NOT NULL, entry TEXT NOT NULL
     )`,
  );
  await db.raw('CREATE TABLE mail_event_log (name TEXT PRIMARY KEY, value TEXT NOT NULL)');
  await db.raw("INSERT INTO mail_event_log VALUES ('epoch', lower(hex(randomblob(32))))");
  await db.raw('CREATE INDEX mail_event_ahead ON mail_event (number - at) WHERE number - at > 60000000');
  await db.raw(
    "CREATE VIRTUAL TABLE mail_event_word USING fts5(words, content='', contentless_delete=1, detail=none, tokenize='ascii')",
  );
  // Mail would wait for its merges: `tidy` makes them, a few pages at a time.
  await db.raw("INSERT INTO mail_event_word (mail_event_word, rank) VALUES ('automerge', 0)");
}

async function webhooks(db: Knex): Promise<void> {
  for (const sql of webhookTables('text')) await db.raw(sql);
}

async function digests(db: Knex): Promise<void> {
  for (const sql of digestTables('text', [])) await db.raw(sql);
}
