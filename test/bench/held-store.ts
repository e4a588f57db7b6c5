// A store of held mails with a realistic mix, for measuring lists of up to a million: inserted directly into the database of a
// running node, as a list does not read the mails' bytes. A few thousand mails are generated here, and SQL multiplies them.

import {foldSubject} from '../../daemon/store/sql/held-mail.ts';
import type {TestStore} from '../helpers/store.ts';

export const shapes = 5000;
export const spanMs = 28 * 24 * 3600 * 1000;

/** The fields of mail number n; `#` in a text stands for n, `~` for one of 20,000 servers. */
interface Shape {
  domain: string;
  domain_id: number;
  sender: string;
  recipients: string[];
  subject: string;
  score: number;
  reason: string;
  size_bytes: number;
}

/** The same numbers in every run. */
const createRandom = (seed: number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
};

/** The share of each subject in percent. */
const subjects: [percent: number, subject: string][] = [
  [22, 'Special offer # for you and everybody you know'],
  [8, 'Your invoice # is overdue'],
  [6, 'Re: Invoice # and remittance advice'],
  [10, 'Account notice: unusual sign-in, case #'],
  [9, 'You have (1) new voice message'],
  [8, 'Last chance! Save 80 % on everything'],
  [7, 'Ihre Bestellung Nr. # wurde versandt'],
  [6, 'Urgent: wire transfer needed today'],
  [6, 'Newsletter # – what is new this week'],
  [5, 'DHL: parcel DK# could not be delivered'],
  [5, 'RE: meeting notes #'],
  [4, 'Ваш заказ # готов к отправке'],
  [3.9, 'Cheap watches and pills'],
  [0.1, 'Kündigung Ihres Vertrags #'],
];

const pick = <T>(weighted: readonly [percent: number, value: T][], at: number): T | undefined => {
  let left = at * 100;
  return weighted.find(([percent]) => {
    left -= percent;
    return left < 0;
  })?.[1];
};

const shapeOf = (random: () => number): Shape => {
  const number = random() < 0.2 ? 0 : Math.floor(random() * 50);
  const domain = `d${number}.example`;
  const recipient = random() < 0.15 && number === 0 ? 'sales@d0.example' : `user${Math.floor(random() * 2000)}@${domain}`;
  const sender = pick(
    [
      [15, 'news#@letters.example'],
      [4, 'offers@shop.example'],
      [2, ''],
      [79, 'info@s~.example'],
    ],
    random(),
  );
  return {
    domain,
    domain_id: number + 1,
    sender: sender ?? '',
    recipients: random() < 0.1 ? [recipient, `office@${domain}`] : [recipient],
    subject: pick(subjects, random()) ?? 'Hello',
    score: Math.round((6 + 9 * random() ** 2) * 10) / 10,
    reason:
      pick(
        [
          [60, 'spam'],
          [20, 'phishing'],
          [15, 'rbl'],
          [5, 'sandbox'],
        ],
        random(),
      ) ?? 'spam',
    size_bytes: 2000 + Math.floor(40_000 * random()),
  };
};

export const symbols = JSON.stringify([
  {name: 'RBL_EXAMPLE', score: 2.5},
  {name: 'HTML_SHORT_LINK_IMG_1', score: 2},
  {name: 'MISSING_MID', score: 1.5},
]);

const rowOf = ({recipients, ...shape}: Shape, id: number) => ({
  id,
  ...shape,
  recipients: JSON.stringify(recipients),
  sender_domain: shape.sender.split('@')[1] ?? '',
  folded_subject: foldSubject(shape.subject),
});

/** `count` mails, newest first. This database gets every `of`-th of them. A million mails cover four weeks. */
export interface Filling {
  count: number;
  share: number;
  of: number;
  /** Arrival time of mail number 0. */
  newestMs: number;
}

/** One object for each shape, with its number as `id`. */
export const shapeRows = () => {
  const random = createRandom(1);
  return Array.from({length: shapes}, (_, id) => rowOf(shapeOf(random), id));
};

/** SQL generates the same ids. */
export const queueIdOf = (n: number): string => `bench${String(n).padStart(9, '0')}`;

const perTransaction = 20_000;

export const fillStore = async ({write}: TestStore, {count, share, of, newestMs}: Filling): Promise<void> => {
  await write.raw("CREATE TEMP TABLE IF NOT EXISTS shape AS SELECT value AS shape, value ->> 'id' AS id FROM json_each(?)", [
    JSON.stringify(shapeRows()),
  ]);
  await write.raw('CREATE INDEX IF NOT EXISTS temp.shape_id ON shape (id)');
  // Created at the end, as the database would need half an hour to insert a million rows into ten indexes one by one.
  const indexes: {name: string; sql: string}[] = await write.raw(
    "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name IN ('held_mail', 'held_from') AND sql IS NOT NULL",
  );
  for (const {name} of indexes) await write.raw('DROP INDEX ??', [name]);
  for (let start = share; start < count; start += perTransaction * of)
    await write.transaction(async tx => {
      const last = start + (Math.min(perTransaction, Math.ceil((count - start) / of)) - 1) * of;
      const ids = [start, last].map(queueIdOf);
      await tx.raw(mailsSql, [start, of, last, newestMs / 1000, spanMs / 1e9]);
      await tx.raw(recipientsSql, ids);
      await tx.raw(countsSql, ids);
    });
  for (const {sql} of indexes) await write.raw(sql);
};

const numbered = (text: string) => `replace(replace(shape ->> '${text}', '#', n), '~', n % 20000)`;

const mailsSql = `
  WITH RECURSIVE series(n) AS (SELECT ? UNION ALL SELECT n + ? FROM series WHERE n < ?)
  INSERT INTO held_mail (queue_id, state, is_held, direction, domain, sender, from_addresses, recipients, subject, reason, symbols, client_ip, helo,
    sha256, arrived_at, sender_domain, folded_sender, folded_subject, domain_id, is_utf8, is_eight_bit, score, size_bytes, keeper)
  SELECT printf('bench%09d', n), 'held', 1, 'inbound', shape ->> 'domain', ${numbered('sender')}, json_array(${numbered('sender')}),
    shape ->> 'recipients', ${numbered('subject')}, shape ->> 'reason', '${symbols}', '192.0.2.1', 'mail.example', '${'0'.repeat(64)}',
    strftime('%Y-%m-%dT%H:%M:%fZ', ? - n * ?, 'unixepoch'), ${numbered('sender_domain')}, ${numbered('sender')},
    ${numbered('folded_subject')}, shape ->> 'domain_id', 0, 0, shape ->> 'score', shape ->> 'size_bytes', 'spool'
  FROM series CROSS JOIN shape ON shape.id = n * 7919 % ${shapes}`;

const recipientsSql = `
  INSERT INTO held_recipient (queue_id, recipient)
  SELECT queue_id, value FROM held_mail, json_each(recipients) WHERE queue_id BETWEEN ? AND ?`;

const countsSql = `
  INSERT INTO held_count (domain_id, domain, reason, count, size_bytes)
  SELECT domain_id, domain, reason, count(*), sum(size_bytes) FROM held_mail WHERE queue_id BETWEEN ? AND ? GROUP BY 1, 2, 3
  ON CONFLICT DO UPDATE SET count = count + excluded.count, size_bytes = held_count.size_bytes + excluded.size_bytes`;
