// Entries of nodes about themselves: that they live, and that they still work on the mails they have claimed.
import type {Reason} from '../../../shared/reason.ts';
import type {NodeIdentity} from '../../services/actor.ts';
import type {CommonStore, Leases, NodePresence} from '../../services/common-store.ts';
import {query} from '../sql/db.ts';
import {leaseSeconds, type PostgresDb} from './dialect.ts';

type PresenceRow = Omit<NodePresence, 'retention_ms'> & {retention_ms: string};

const reading = `
SELECT node_no, node_id, to_char(last_seen AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_seen,
  extract(epoch FROM now() - last_seen)::double precision AS "ageSeconds", seq, retention_ms
FROM node_presence ORDER BY node_id`;

const writing = `
INSERT INTO node_presence (node_id, node_no, last_seen, seq, retention_ms) VALUES (?, ?, now(), ?, ?)
ON CONFLICT (node_id) DO UPDATE SET node_no = excluded.node_no, last_seen = excluded.last_seen, seq = excluded.seq,
  retention_ms = excluded.retention_ms`;

export const presenceOn = (db: PostgresDb, {nodeId, nodeNo}: NodeIdentity): Pick<CommonStore, 'presence' | 'notePresence'> => ({
  async presence() {
    const rows = await query<PresenceRow>(db, reading);
    return rows.map(row => ({...row, retention_ms: retentionIn(row.retention_ms)}));
  },
  notePresence: async ({seq, retention_ms, longest_ms}) =>
    void (await query(db, writing, [nodeId, nodeNo, seq, JSON.stringify({...longest_ms, of_node: retention_ms})])),
});

/** Nodes of 0.8 write and read their reasons only. */
const retentionIn = (text: string): Record<Reason, number> => {
  const {of_node, ...reasons} = JSON.parse(text) as Record<Reason, number> & {of_node?: Record<Reason, number>};
  return of_node ?? reasons;
};

const claimed = "is_held AND state <> 'held'";
/** Locked in one order, as actions on several mails lock them. */
const lockedWhere = (condition: string) =>
  `(node_id, queue_id) IN (SELECT node_id, queue_id FROM held_mail WHERE ${condition} ORDER BY node_id, queue_id FOR UPDATE)`;
const extension = `lease_until = now() + interval '${leaseSeconds} s'`;

/** `monotonicMs`: a clock that goes on while the process is stopped. */
export const leasesOn = (db: PostgresDb, monotonicMs = () => performance.now()): Leases => {
  const {own, lease} = db.dialect;
  return {
    renew: async () =>
      void (await db.run(`UPDATE held_mail SET ${extension} WHERE ${lockedWhere(`${claimed}${lease.isOwn}`)}`, [])),
    async isOwn(queueId) {
      const isLive = `${own.condition}queue_id = ? AND ${claimed} AND lease_until > now()${lease.isOwn}`;
      const askedAt = monotonicMs();
      const rows = await db.run(`UPDATE held_mail SET ${extension} WHERE ${isLive} RETURNING queue_id`, [queueId]);
      // A process that was stopped meanwhile reads an answer that no longer holds.
      return rows.length === 1 && monotonicMs() - askedAt < leaseSeconds * 1000;
    },
    async giveBack() {
      const sql = `UPDATE held_mail SET state = 'held', acted_by_key_id = NULL, claimed_by = NULL, lease_until = NULL
        WHERE ${lockedWhere(`${claimed} AND keeper = 'spool' AND lease_until < now()`)} RETURNING queue_id`;
      return (await db.run(sql, [])).length;
    },
  };
};
