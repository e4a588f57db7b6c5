// What lists of many mails are read from beside the rows, kept in step by the database itself: whoever writes held_mail need not
// know of it. Written for SQLite; PostgreSQL has triggers of its own, and pg_trgm in the place of FTS5.
import type {Knex} from 'knex';

/** How many changes are remembered: whoever counted before them counts anew. */
const remembered = 10_000;
const forgottenAtOnce = 1000;

/** What filters look at. A mail in which any of it changes matches other filters than it did. */
const compared = 'domain, domain_id, sender_domain, folded_sender, folded_subject, reason, score, arrived_at';

export const addListIndexes = async (db: Knex): Promise<void> => {
  // With the subject in it, subjects are looked through without reading the rows.
  await db.raw('DROP INDEX held_mail_by_arrived');
  await db.raw('CREATE INDEX held_mail_by_arrived ON held_mail (arrived_at DESC, queue_id, folded_subject) WHERE is_held');
  await rememberChanges(db);
  await indexSubjects(db);
};

/** Held (1), not held any more (-1), or something else that a count has to begin anew for (0). */
const rememberChanges = async (db: Knex): Promise<void> => {
  // Without gaps: the newest is never forgotten, so the next number is always one more.
  await db.raw('CREATE TABLE held_change (seq INTEGER PRIMARY KEY, queue_id TEXT NOT NULL, change INTEGER NOT NULL)');
  const remember = async (name: string, event: string, queueId: string, change: string) =>
    db.raw(
      `CREATE TRIGGER held_change_${name} AFTER ${event} BEGIN INSERT INTO held_change (queue_id, change) VALUES (${queueId}, ${change}); END`,
    );
  await remember('in', 'INSERT ON held_mail WHEN new.is_held', 'new.queue_id', '1');
  await remember(
    'moved',
    'UPDATE OF is_held ON held_mail WHEN new.is_held <> old.is_held',
    'new.queue_id',
    'iif(new.is_held, 1, -1)',
  );
  await remember('other', `UPDATE OF ${compared} ON held_mail WHEN old.is_held`, 'new.queue_id', '0');
  await remember('struck', 'DELETE ON held_recipient', 'old.queue_id', '0');
  // The id may be given again, to a mail of which the changes before say nothing.
  await remember('gone', 'DELETE ON held_mail', 'old.queue_id', '0');
  await db.raw(
    `CREATE TRIGGER held_change_forgotten AFTER INSERT ON held_change WHEN new.seq % ${forgottenAtOnce} = 0
     BEGIN DELETE FROM held_change WHERE seq <= new.seq - ${remembered}; END`,
  );
};

/**
 * Which subjects have which three characters in a row. Ids of their own: those of held_mail are SQLite's to change. With the time
 * beside them, the newest of many that were found are known before a row is read.
 */
const indexSubjects = async (db: Knex): Promise<void> => {
  await db.raw(
    `CREATE TABLE held_subject (
       id INTEGER PRIMARY KEY, queue_id TEXT NOT NULL UNIQUE, arrived_at TEXT NOT NULL, folded_subject TEXT NOT NULL
     )`,
  );
  // Folded already, so it takes characters as they are.
  await db.raw(
    `CREATE VIRTUAL TABLE held_trigram USING fts5(folded_subject, content='held_subject', content_rowid='id',
     detail=none, columnsize=0, tokenize='trigram case_sensitive 1')`,
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
  await db.raw("INSERT INTO held_trigram (held_trigram) VALUES ('rebuild')");
  await db.raw(
    `CREATE TRIGGER held_trigram_in AFTER INSERT ON held_subject
     BEGIN INSERT INTO held_trigram (rowid, folded_subject) VALUES (new.id, new.folded_subject); END`,
  );
  await db.raw(
    `CREATE TRIGGER held_trigram_out AFTER DELETE ON held_subject
     BEGIN INSERT INTO held_trigram (held_trigram, rowid, folded_subject) VALUES ('delete', old.id, old.folded_subject); END`,
  );
};

/** How many subjects at once go into the index: one by one, each transaction would write a piece of it that has to be merged with others. */
const indexedAtOnce = 256;

/** Of subjects beyond `upto` the index knows nothing yet: they are looked through one by one. */
export const indexSubjectsTogether = async (db: Knex): Promise<void> => {
  await db.raw('CREATE TABLE held_trigram_end (upto INTEGER NOT NULL)');
  await db.raw('INSERT INTO held_trigram_end (upto) SELECT coalesce(max(id), 0) FROM held_subject');
  await db.raw('DROP TRIGGER held_trigram_in');
  await db.raw('DROP TRIGGER held_trigram_out');
  await db.raw(
    `CREATE TRIGGER held_trigram_in AFTER INSERT ON held_subject WHEN new.id % ${indexedAtOnce} = 0 BEGIN
       INSERT INTO held_trigram (rowid, folded_subject)
         SELECT id, folded_subject FROM held_subject WHERE id > (SELECT upto FROM held_trigram_end);
       UPDATE held_trigram_end SET upto = new.id;
     END`,
  );
  // The id of the last subject is given again, to one that is not in the index.
  const last = '(SELECT coalesce(max(id), 0) FROM held_subject)';
  await db.raw(
    `CREATE TRIGGER held_trigram_out AFTER DELETE ON held_subject BEGIN
       INSERT INTO held_trigram (held_trigram, rowid, folded_subject)
         SELECT 'delete', old.id, old.folded_subject FROM held_trigram_end WHERE old.id <= upto;
       UPDATE held_trigram_end SET upto = ${last} WHERE upto > ${last};
     END`,
  );
};
