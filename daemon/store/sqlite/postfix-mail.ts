// Rows of mails whose bytes are in Postfix's hold queue, held against what is there.
import type {Db} from './database.ts';
import {adjustSums} from './held-count.ts';
import {foldSubject, type HeldMailRow, type HeldState} from './held-mail.ts';
import {chunksOf} from './rows.ts';

export interface PostfixMail {
  queue_id: string;
  state: HeldState;
  queued_at: number | null;
  acted_at: string | null;
  /** Who has begun to act on it, or has acted. */
  acted_by_key_id: number | null;
}

const columns: (keyof PostfixMail)[] = ['queue_id', 'state', 'queued_at', 'acted_at', 'acted_by_key_id'];

/** All that are held, according to the index. */
export const listInPostfix = async (db: Db): Promise<PostfixMail[]> => {
  const rows = await db<HeldMailRow>('held_mail').whereRaw("is_held AND keeper = 'postfix'").select<PostfixMail[]>(columns);
  return rows.map(plain);
};

/** Rows of mails that Postfix keeps or has kept, with these ids, whatever their state. */
export const findPostfixMails = async (db: Db, queueIds: string[]): Promise<PostfixMail[]> => {
  const found: PostfixMail[] = [];
  for (const ids of chunksOf(queueIds)) {
    const rows = await db<HeldMailRow>('held_mail')
      .whereIn('queue_id', ids)
      .where({keeper: 'postfix'})
      .select<PostfixMail[]>(columns);
    found.push(...rows.map(plain));
  }
  return found;
};

const plain = (row: PostfixMail): PostfixMail => ({
  ...row,
  queued_at: row.queued_at === null ? null : Number(row.queued_at),
  acted_by_key_id: row.acted_by_key_id === null ? null : Number(row.acted_by_key_id),
});

export interface Confirmation {
  queueId: string;
  queuedAt: number;
  sizeBytes: number;
}

/** Writes down when Postfix queued held mails and how big they are there; what stays unknown to the milter. */
export const confirmInPostfix = async (tx: Db, confirmations: readonly Confirmation[]): Promise<void> => {
  for (const some of chunksOf(confirmations)) {
    const ids = some.map(({queueId}) => queueId);
    const rows = await tx<HeldMailRow>('held_mail').whereRaw('is_held').whereIn('queue_id', ids);
    const sizes = new Map(some.map(({queueId, sizeBytes}) => [queueId, sizeBytes]));
    for (const {queueId, queuedAt, sizeBytes} of some)
      await tx<HeldMailRow>('held_mail').where({queue_id: queueId}).update({queued_at: queuedAt, size_bytes: sizeBytes});
    await adjustSums(
      tx,
      rows.map(row => ({...row, count: 0, size_bytes: (sizes.get(row.queue_id) ?? 0) - Number(row.size_bytes)})),
    );
  }
};

/** Held mails with these symbols, written as JSON, and without a subject. */
export const listWithoutSubject = async (db: Db, symbols: string): Promise<string[]> =>
  db<HeldMailRow>('held_mail').whereRaw("is_held AND keeper = 'postfix'").where({symbols, subject: ''}).pluck('queue_id');

export interface Description {
  subject: string;
  client_ip: string;
  helo: string;
}

/** What was read from a mail that nobody had judged here. */
export const describe = async (tx: Db, queueId: string, {subject, client_ip, helo}: Description): Promise<void> => {
  const folded_subject = foldSubject(subject);
  await tx<HeldMailRow>('held_mail').where({queue_id: queueId}).update({subject, folded_subject, client_ip, helo});
};
