// Rows of mails that have just come in, each waited for by its sender. All that a batch of mails brings is one statement, which
// SQLite runs and commits in one go: a transaction of statements costs a wait between each two of them.
import type {Database} from './database.ts';
import {sumsOf} from './held-count.ts';
import {type NewHeldMail, recipientRows, toRow} from './held-mail.ts';
import type {Procedure} from './prepared.ts';

const columns = [
  'queue_id',
  'state',
  'is_held',
  'direction',
  'domain',
  'domain_id',
  'sender',
  'sender_domain',
  'folded_sender',
  'recipients',
  'subject',
  'folded_subject',
  'reason',
  'symbols',
  'score',
  'size_bytes',
  'arrived_at',
  'is_utf8',
  'is_eight_bit',
  'client_ip',
  'helo',
  'keeper',
  'sha256',
] as const;

const from = (names: readonly string[]) => names.map(name => `value->>'$.${name}'`).join(', ');

/** The view is there to be inserted into, once for a batch. */
const arrival: Procedure = {
  schema: `
CREATE TEMP VIEW IF NOT EXISTS held_arrival AS SELECT '' AS mails, '' AS recipients, '' AS sums;
CREATE TEMP TRIGGER IF NOT EXISTS held_arrives INSTEAD OF INSERT ON held_arrival BEGIN
  INSERT INTO held_mail (${columns.join(', ')}) SELECT ${from(columns)} FROM json_each(NEW.mails);
  INSERT INTO held_recipient (queue_id, recipient) SELECT ${from(['queue_id', 'recipient'])} FROM json_each(NEW.recipients);
  INSERT INTO held_count (domain_id, domain, reason, count, size_bytes)
    SELECT ${from(['domain_id', 'domain', 'reason', 'count', 'size_bytes'])} FROM json_each(NEW.sums) WHERE true
    ON CONFLICT (domain_id, domain, reason)
    DO UPDATE SET count = count + excluded.count, size_bytes = size_bytes + excluded.size_bytes;
END;`,
  sql: 'INSERT INTO held_arrival (mails, recipients, sums) VALUES (?, ?, ?)',
};

/** Adds mails whose queue ids nobody has yet. All of them or, when it rejects, none. */
export const insertArrivals = async ({prepared}: Database, mails: NewHeldMail[]): Promise<void> => {
  const sums = sumsOf(mails.map(mail => ({...mail, count: 1})));
  await prepared.write.run(arrival, [
    JSON.stringify(mails.map(toRow)),
    JSON.stringify(mails.flatMap(recipientRows)),
    JSON.stringify(sums),
  ]);
};
