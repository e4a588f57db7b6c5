// Rows of spooled mail, for reconciliation with the spool.
import type {SpoolRows} from '../../services/node-store.ts';
import {heldStates} from '../../services/quarantine/stored-mail.ts';
import {type Db, query} from '../sql/db.ts';
import type {HeldMailRow} from '../sql/held-mail.ts';

const isOdd = `is_held <> (state IN ('held', 'releasing', 'discarding')) OR NOT (json_valid(recipients) AND json_valid(symbols) AND json_valid(coalesce(from_addresses, '[]')))
  OR state NOT IN (${heldStates.map(state => `'${state}'`).join(', ')})`;
const overview = `
SELECT json_group_array(CAST(queue_id AS TEXT)) FILTER (WHERE ${isOdd}) AS odd, count(*) FILTER (WHERE is_held AND NOT (${isOdd})) AS held
FROM held_mail WHERE keeper = 'spool'`;
const states = `
SELECT queue_id, state FROM held_mail WHERE queue_id IN (SELECT value FROM json_each(?)) AND keeper = 'spool'`;
const following = `
SELECT queue_id FROM held_mail WHERE queue_id > ? AND keeper = 'spool' AND is_held ORDER BY queue_id LIMIT ?`;

const summing = `
INSERT INTO held_count (domain_id, domain, reason, count, size_bytes)
SELECT domain_id, domain, reason, count(*), sum(size_bytes) FROM held_mail WHERE is_held GROUP BY domain_id, domain, reason`;

export const spoolRows = (db: Db): SpoolRows => ({
  async overview() {
    const [row] = await query<{odd: string; held: number}>(db, overview);
    return {odd: JSON.parse(row?.odd ?? '[]') as string[], held: row?.held ?? 0};
  },
  async states(queueIds) {
    const rows = await query<Pick<HeldMailRow, 'queue_id' | 'state'>>(db, states, [JSON.stringify(queueIds)]);
    return new Map(rows.map(({queue_id, state}) => [queue_id, state]));
  },
  async list(after, limit) {
    const rows = await query<Pick<HeldMailRow, 'queue_id'>>(db, following, [after, limit]);
    return rows.map(({queue_id}) => queue_id);
  },
  drop: async queueId => void (await query(db, 'DELETE FROM held_mail WHERE queue_id = ?', [queueId])),
  async rebuildCounts() {
    await query(db, 'DELETE FROM held_count');
    await query(db, summing);
  },
});
