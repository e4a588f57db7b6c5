// Insertion of held mails: a few statements for any number of mails.
import type {NewHeldMail} from '../../services/quarantine/stored-mail.ts';
import type {Db} from './database.ts';
import {adjustSums} from './held-count.ts';
import {recipientRows, toRow} from './held-mail.ts';
import {query} from './query.ts';

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

const insertMails = `
INSERT INTO held_mail (${columns.join(', ')}) SELECT ${from(columns)} FROM json_each(?) WHERE true
ON CONFLICT (queue_id) DO NOTHING RETURNING queue_id`;
const insertRecipients = `
INSERT INTO held_recipient (queue_id, recipient) SELECT ${from(['queue_id', 'recipient'])} FROM json_each(?)`;

/** Adds mails to the queue. A mail that is there already is not changed: its file was indexed before. */
export const insertHeldMails = async (tx: Db, mails: readonly NewHeldMail[]): Promise<void> => {
  if (mails.length === 0) return;
  const added = await query<{queue_id: string}>(tx, insertMails, [JSON.stringify(mails.map(toRow))]);
  // Of two mails with one id, the first one was added.
  const byId = new Map(mails.toReversed().map(mail => [mail.queue_id, mail]));
  const news = added.flatMap(({queue_id}) => byId.get(queue_id) ?? []);
  await query(tx, insertRecipients, [JSON.stringify(news.flatMap(recipientRows))]);
  await adjustSums(
    tx,
    news.map(mail => ({...mail, count: 1})),
  );
};
