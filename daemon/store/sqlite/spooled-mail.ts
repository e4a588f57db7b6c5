// Rows of spooled mail, for reconciliation with the spool.
import type {SpoolRows} from '../../services/node-store.ts';
import {heldStates} from '../../services/quarantine/stored-mail.ts';
import {type Db, query} from '../sql/db.ts';
import type {HeldMailRow} from '../sql/held-mail.ts';
import {claimed} from '../sql/hold-store.ts';

const isJson = `json_valid(recipients) AND json_valid(symbols) AND json_valid(coalesce(from_addresses, '[]'))`;
const isOdd = `is_held <> (state IN ('held', 'releasing', 'discarding')) OR NOT (${isJson})
  OR state NOT IN (${heldStates.map(state => `'${state}'`).join(', ')})`;
// In one pass, as a million rows are most of a gigabyte. What almost all of them are is asked first.
const overview = `
SELECT CAST(queue_id AS TEXT) AS queue_id, ${isOdd} AS is_odd FROM held_mail NOT INDEXED
WHERE keeper = 'spool' AND NOT (state = 'held' AND is_held = 1 AND ${isJson}) AND (${claimed} OR is_odd)`;
const states = `
SELECT queue_id, state FROM held_mail WHERE queue_id IN (SELECT value FROM json_each(?)) AND keeper = 'spool'`;

const atOnce = 10_000;
/** `after`: a condition with the end of the page before it. */
const page = (after: string) => `
SELECT json_group_array(CAST(queue_id AS TEXT)) AS ids, min(arrived_at) AS earliest FROM (
  SELECT queue_id, arrived_at FROM held_mail INDEXED BY held_mail_by_arrived WHERE is_held AND keeper = 'spool' ${after}
  ORDER BY arrived_at DESC, queue_id LIMIT ${atOnce})`;
const firstPage = page('');
const nextPage = page('AND arrived_at <= ? AND (arrived_at < ? OR queue_id > ?)');
const summing = `
INSERT INTO held_count (domain_id, domain, reason, count, size_bytes)
SELECT domain_id, domain, reason, count(*), sum(size_bytes) FROM held_mail WHERE is_held GROUP BY domain_id, domain, reason`;

export const spoolRows = (db: Db): SpoolRows => ({
  async overview() {
    const rows = await query<{queue_id: string; is_odd: 0 | 1}>(db, overview);
    const ids = (isOdd: boolean) => rows.filter(row => Boolean(row.is_odd) === isOdd).map(({queue_id}) => queue_id);
    return {odd: ids(true), claimed: ids(false)};
  },
  async states(queueIds) {
    const rows = await query<Pick<HeldMailRow, 'queue_id' | 'state'>>(db, states, [JSON.stringify(queueIds)]);
    return new Map(rows.map(({queue_id, state}) => [queue_id, state]));
  },
  async *held() {
    type Page = {ids: string; earliest: string | null};
    let [row] = await query<Page>(db, firstPage);
    while (row) {
      const ids = JSON.parse(row.ids) as string[];
      yield ids;
      if (ids.length < atOnce) return;
      [row] = await query<Page>(db, nextPage, [row.earliest, row.earliest, ids.at(-1) ?? '']);
    }
  },
  drop: async queueId => void (await query(db, 'DELETE FROM held_mail WHERE queue_id = ?', [queueId])),
  async rebuildCounts() {
    await query(db, 'DELETE FROM held_count');
    await query(db, summing);
  },
});
