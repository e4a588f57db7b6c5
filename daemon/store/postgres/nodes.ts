// Entries of nodes about themselves: that they live, and that they still work on the mails they have claimed.
import type {Reason} from '../../../shared/reason.ts';
import type {NodeIdentity} from '../../services/actor.ts';
import type {CommonStore, Leases, LogHolds, NodePresence} from '../../services/common-store.ts';
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

/** A node that dies is away after 15 s, and its log is free after 20 s. */
const awaySeconds = 15;
const holdSeconds = 20;

const joined = 'webhook_sender LEFT JOIN node_presence ON node_id = logged_by';
const isAway = `coalesce(last_seen < now() - interval '${awaySeconds} s', true)`;

export const logHoldsOn = (db: PostgresDb, holder: string): LogHolds => ({
  async renew() {
    // A node that died before there was a webhook has a log as well.
    const adding = `INSERT INTO webhook_sender (logged_by, holder, until) SELECT node_id, '', now() FROM node_presence
      UNION SELECT ?, '', now() ON CONFLICT DO NOTHING`;
    await db.run(adding, [holder]);
    const mayHave = `(holder = ? OR until < now()) AND (logged_by = ? OR ${isAway})`;
    const before = `SELECT logged_by, holder = ? AND until > now() AS "isKept" FROM ${joined} WHERE ${mayHave}
      ORDER BY logged_by FOR UPDATE OF webhook_sender`;
    const taking = `UPDATE webhook_sender AS log SET holder = ?, until = now() + interval '${holdSeconds} s' FROM (${before}) AS before
      WHERE log.logged_by = before.logged_by RETURNING log.logged_by, "isKept"`;
    const held = await query<{logged_by: string; isKept: boolean}>(db, taking, [holder, holder, holder, holder]);
    const isReturning = `holder = ? AND logged_by <> ? AND until > now() AND NOT ${isAway}`;
    const returning = await query<{logged_by: string}>(db, `SELECT logged_by FROM ${joined} WHERE ${isReturning}`, [
      holder,
      holder,
    ]);
    return {
      held: held.map(row => row.logged_by),
      taken: held.filter(({isKept}) => !isKept).map(row => row.logged_by),
      returning: returning.map(row => row.logged_by),
    };
  },
  giveBack: async loggedBy =>
    void (await db.run("UPDATE webhook_sender SET holder = '', until = now() WHERE logged_by = ? AND holder = ?", [
      loggedBy,
      holder,
    ])),
});

/** A node that is cut off in the transaction, or stands still, keeps others from the log no longer. */
const longestIdle = '5s';

export const holdsLog = async (tx: PostgresDb, loggedBy: string, holder: string): Promise<boolean> => {
  const sql = `SELECT set_config('idle_in_transaction_session_timeout', ?, true) FROM webhook_sender
    WHERE logged_by = ? AND holder = ? AND until > clock_timestamp() FOR SHARE`;
  return (await tx.run(sql, [longestIdle, loggedBy, holder])).length > 0;
};
