// Outbox: one row per change for the peers, numbered without gaps after `outbox_floor`.
import type {AppliedReads, AppliedStore, OutboxEntry, OutboxReads, OutboxStore} from '../../services/node-store.ts';
import type {Db} from './database.ts';
import {lastInSequence, nextInSequence, readState, writeState} from './local-state.ts';
import {query} from './query.ts';

interface OutboxRow {
  seq: number;
  event: string;
}

/** The sequence of event numbers, which start at 1. */
const sequence = 'outbox';
const floorName = 'outbox_floor';

const following = `
SELECT (SELECT value FROM local_state WHERE name = '${floorName}') AS floor, outbox.seq, outbox.event
FROM (SELECT 1) LEFT JOIN outbox ON outbox.seq > ? ORDER BY outbox.seq LIMIT ?`;

const toEntry = ({seq, event}: OutboxRow): OutboxEntry => ({seq, event: JSON.parse(event)});

export const outboxReads = (db: Db): OutboxReads => ({
  last: async () => lastInSequence(db, sequence),
  floor: async () => Number((await readState(db, floorName)) ?? 0),
  all: async () => (await query<OutboxRow>(db, 'SELECT seq, event FROM outbox ORDER BY seq')).map(toEntry),
  async depth() {
    const [row] = await query<{count: number}>(db, 'SELECT count(*) AS count FROM outbox');
    return row?.count ?? 0;
  },
  async after(after, {limit, maxChars}) {
    const rows = await query<(OutboxRow | {seq: null}) & {floor: string | null}>(db, following, [after, Math.max(1, limit)]);
    const entries: OutboxEntry[] = [];
    let chars = 0;
    for (const row of rows) {
      if (row.seq === null || entries.length === limit) break;
      chars += row.event.length;
      if (entries.length > 0 && chars > maxChars) break;
      entries.push(toEntry(row));
    }
    return {floor: Number(rows[0]?.floor ?? 0), entries};
  },
});

export const outboxStore = (tx: Db): OutboxStore => {
  const reads = outboxReads(tx);
  return {
    ...reads,
    async append(event) {
      const seq = await nextInSequence(tx, sequence);
      await query(tx, 'INSERT INTO outbox (seq, event) VALUES (?, ?)', [seq, JSON.stringify(event)]);
      return seq;
    },
    async rewrite(entries) {
      for (const {seq, event} of entries)
        await query(tx, 'UPDATE outbox SET event = ? WHERE seq = ?', [JSON.stringify(event), seq]);
    },
    async prune(seq) {
      if (seq <= (await reads.floor())) return 0;
      const gone = await query(tx, 'DELETE FROM outbox WHERE seq <= ? RETURNING seq', [seq]);
      await writeState(tx, floorName, String(seq));
      return gone.length;
    },
    async renumber(seq) {
      const last = await reads.last();
      const [row] = await query<{first: number | null}>(tx, 'SELECT min(seq) AS first FROM outbox');
      // Higher than all present numbers, so that no updated row collides with a row that is not updated yet.
      const floor = Math.max(seq, last);
      const delta = floor + 1 - (row?.first ?? last + 1);
      await query(tx, 'UPDATE outbox SET seq = seq + ?', [delta]);
      await writeState(tx, `sequence:${sequence}`, String(last + delta));
      await writeState(tx, floorName, String(floor));
    },
  };
};

interface AppliedRow {
  /** Number of the node that made the events. */
  origin: number;
  seq: number;
}

const noting = `
INSERT INTO applied (origin, seq) VALUES (?, ?)
ON CONFLICT (origin) DO UPDATE SET seq = excluded.seq WHERE applied.seq < excluded.seq`;

export const appliedReads = (db: Db): AppliedReads => ({
  of: async origin => (await query<AppliedRow>(db, 'SELECT seq FROM applied WHERE origin = ?', [origin]))[0]?.seq ?? 0,
  async all() {
    const rows = await query<AppliedRow>(db, 'SELECT origin, seq FROM applied');
    return new Map(rows.map(({origin, seq}) => [origin, seq]));
  },
});

export const appliedStore = (tx: Db): AppliedStore => ({
  ...appliedReads(tx),
  note: async (origin, seq) => void (await query(tx, noting, [origin, seq])),
});
