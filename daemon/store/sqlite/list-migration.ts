// Migrations for data that lists of many mails read besides the rows. Triggers keep it up to date, so that writers of held_mail
// need not know about it. Written for SQLite; PostgreSQL has its own triggers, and pg_trgm instead of FTS5.
import type {Knex} from 'knex';

export const addListIndexes = async (db: Knex): Promise<void> => {
  // With the subject in the index, subjects are compared without reading the rows.
  await db.raw('DROP INDEX held_mail_by_arrived');
  await db.raw('CREATE INDEX held_mail_by_arrived ON held_mail (arrived_at DESC, queue_id, folded_subject) WHERE is_held');
  await copySubjects(db);
};

/** The subjects of held mail with ids of their own, as SQLite may change the rowids of held_mail. */
const copySubjects = async (db: Knex): Promise<void> => {
  await db.raw(
    `CREATE TABLE held_subject (
       id INTEGER PRIMARY KEY, queue_id TEXT NOT NULL UNIQUE, arrived_at TEXT NOT NULL, folded_subject TEXT NOT NULL
     )`,
  );
  const add = (mail: string) =>
    `INSERT INTO held_subject (queue_id, arrived_at, folded_subject) VALUES (${mail}.queue_id, ${mail}.arrived_at, ${mail}.folded_subject);`;
  const remove = (mail: string) => `DELETE FROM held_subject WHERE queue_id = ${mail}.queue_id;`;
  const changes: [name: string, event: string, actions: string][] = [
    ['in', 'INSERT ON held_mail WHEN new.is_held', add('new')],
    ['again', 'UPDATE OF is_held ON held_mail WHEN new.is_held AND NOT old.is_held', add('new')],
    ['out', 'UPDATE OF is_held ON held_mail WHEN old.is_held AND NOT new.is_held', remove('old')],
    ['other', 'UPDATE OF folded_subject, arrived_at ON held_mail WHEN old.is_held AND new.is_held', remove('old') + add('new')],
    ['gone', 'DELETE ON held_mail WHEN old.is_held', remove('old')],
  ];
  for (const [name, event, actions] of changes)
    await db.raw(`CREATE TRIGGER held_subject_${name} AFTER ${event} BEGIN ${actions} END`);

  await db.raw(
    `INSERT INTO held_subject (queue_id, arrived_at, folded_subject)
     SELECT queue_id, arrived_at, folded_subject FROM held_mail WHERE is_held`,
  );
};

/**
 * Number of subjects that are added to the index at once: adding them one by one slowed intake by 4 %. Subjects beyond `upto` are
 * not in the index yet.
 */
const indexedAtOnce = 256;

/** An index of all three-character sequences in subjects and their positions: it finds every subject that contains a text. */
export const indexTrigrams = async (db: Knex): Promise<void> => {
  // Versions before 0.5 created these triggers with the migrations above, for counts and for an index without positions.
  const former = ['in', 'moved', 'other', 'struck', 'gone', 'forgotten'].map(name => `held_change_${name}`);
  for (const trigger of [...former, 'held_trigram_in', 'held_trigram_out']) await db.raw(`DROP TRIGGER IF EXISTS ${trigger}`);
  for (const table of ['held_change', 'held_trigram', 'held_trigram_end']) await db.raw(`DROP TABLE IF EXISTS ${table}`);

  // Subjects are folded already, so the tokenizer takes their characters unchanged.
  await db.raw(
    `CREATE VIRTUAL TABLE held_trigram USING fts5(folded_subject, content='held_subject', content_rowid='id',
     columnsize=0, tokenize='trigram case_sensitive 1')`,
  );
  await db.raw("INSERT INTO held_trigram (held_trigram) VALUES ('rebuild')");
  await db.raw('CREATE TABLE held_trigram_end (upto INTEGER NOT NULL)');
  await db.raw('INSERT INTO held_trigram_end (upto) SELECT coalesce(max(id), 0) FROM held_subject');
  await db.raw(
    `CREATE TRIGGER held_trigram_in AFTER INSERT ON held_subject WHEN new.id % ${indexedAtOnce} = 0 BEGIN
       INSERT INTO held_trigram (rowid, folded_subject)
         SELECT id, folded_subject FROM held_subject WHERE id > (SELECT upto FROM held_trigram_end);
       UPDATE held_trigram_end SET upto = new.id;
     END`,
  );
  // The id of the last subject is reused for a subject that is not in the index.
  const last = '(SELECT coalesce(max(id), 0) FROM held_subject)';
  await db.raw(
    `CREATE TRIGGER held_trigram_out AFTER DELETE ON held_subject BEGIN
       INSERT INTO held_trigram (held_trigram, rowid, folded_subject)
         SELECT 'delete', old.id, old.folded_subject FROM held_trigram_end WHERE old.id <= upto;
       UPDATE held_trigram_end SET upto = ${last} WHERE upto > ${last};
     END`,
  );
};

/**
 * The addresses in the header From, and an index of those of held mail: each as `domain@local`, so that one range has all of a domain.
 * They are removed by queue id, as the addresses in a damaged row may be others.
 */
export const addHeaderFrom = async (db: Knex): Promise<void> => {
  await db.raw('ALTER TABLE held_mail ADD COLUMN from_addresses TEXT');
  // Of mail that an earlier version held: a job reads their headers, and this is what it has left.
  await db.raw('CREATE INDEX held_mail_without_from ON held_mail (queue_id) WHERE is_held AND from_addresses IS NULL');
  await db.raw(
    'CREATE TABLE held_from (queue_id TEXT NOT NULL, address TEXT NOT NULL, PRIMARY KEY (queue_id, address)) WITHOUT ROWID',
  );
  await db.raw('CREATE INDEX held_from_by_address ON held_from (address, queue_id)');
  // All up to the last `@`, and empty where there is none.
  const local = "rtrim(value, replace(value, '@', ''))";
  const turned = `substr(value, length(${local}) + 1) || '@' || substr(${local}, 1, length(${local}) - 1)`;
  const add = `INSERT OR IGNORE INTO held_from (queue_id, address)
    SELECT new.queue_id, ${turned} FROM json_each(iif(json_valid(new.from_addresses), new.from_addresses, '[]'));`;
  const remove = 'DELETE FROM held_from WHERE queue_id = old.queue_id;';
  const changes: [name: string, event: string, actions: string][] = [
    ['in', 'INSERT ON held_mail WHEN new.is_held AND new.from_addresses IS NOT NULL', add],
    ['out', 'UPDATE OF is_held ON held_mail WHEN old.is_held AND NOT new.is_held', remove],
    ['again', 'UPDATE OF is_held ON held_mail WHEN new.is_held AND NOT old.is_held AND new.from_addresses IS NOT NULL', add],
    ['read', 'UPDATE OF from_addresses ON held_mail WHEN new.is_held', remove + add],
    ['gone', 'DELETE ON held_mail WHEN old.is_held', remove],
  ];
  for (const [name, event, actions] of changes)
    await db.raw(`CREATE TRIGGER held_from_${name} AFTER ${event} BEGIN ${actions} END`);
};
