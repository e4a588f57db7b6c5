// The hold queue's rows of mails whose bytes are in the spool, for holding the two against each other.
import type {Db} from './database.ts';
import {type HeldMailRow, type HeldState, heldStates} from './held-mail.ts';

export interface SpoolOverview {
  /** Rows that contradict themselves, as none does that was written so. */
  odd: string[];
  /** How many of the others are of mails whose bytes are in the spool. */
  held: number;
}

export const overviewOfSpool = async (db: Db): Promise<SpoolOverview> => {
  const [row] = await db.raw<{odd: string; held: number}[]>(
    `SELECT json_group_array(CAST(queue_id AS TEXT)) FILTER (WHERE ${oddRow}) AS odd,
       count(*) FILTER (WHERE is_held AND NOT (${oddRow})) AS held
     FROM held_mail WHERE keeper = 'spool'`,
  );
  return {odd: JSON.parse(row?.odd ?? '[]') as string[], held: row?.held ?? 0};
};

/** What became of those of the mails that are the spool's. */
export const spooledStates = async (db: Db, queueIds: readonly string[]): Promise<Map<string, HeldState>> => {
  const rows = await db.raw<Pick<HeldMailRow, 'queue_id' | 'state'>[]>(
    "SELECT queue_id, state FROM held_mail WHERE queue_id IN (SELECT value FROM json_each(?)) AND keeper = 'spool'",
    [JSON.stringify(queueIds)],
  );
  return new Map(rows.map(({queue_id, state}) => [queue_id, state]));
};

/** Mails that are in the spool, by queue id in ascending order, from after `after`. */
export const listSpooled = async (db: Db, after: string, limit: number): Promise<string[]> =>
  db<HeldMailRow>('held_mail')
    .where('queue_id', '>', after)
    .where({keeper: 'spool'})
    .whereRaw('is_held')
    .orderBy('queue_id')
    .limit(limit)
    .pluck('queue_id');

const oddRow = `is_held <> (state IN ('held', 'releasing', 'discarding')) OR NOT (json_valid(recipients) AND json_valid(symbols))
  OR state NOT IN (${heldStates.map(state => `'${state}'`).join(', ')})`;
