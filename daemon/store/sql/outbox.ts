// Outbox: one row per change for the peers, numbered without gaps after `outbox_floor`.
import type {AppliedStore, OutboxEntry, OutboxStore} from '../../services/node-store.ts';
import {type Db, query} from './db.ts';
import {renewEpoch} from './event-stream.ts';
import {sequenceStore, stateStore} from './local-state.ts';

interface OutboxRow {
  seq: number;
  event: string;
}

/** The sequence of event numbers, which start at 1. */
const sequence = 'outbox';
const floorName = 'outbox_floor';

const following = `
SELECT (SELECT value FROM local_state WHERE name = '${floorName}') AS floor, outbox.seq, outbox.event
FROM (SELECT 1) AS one LEFT JOIN outbox ON outbox.seq > ? ORDER BY outbox.seq LIMIT ?`;

const toEntry = ({seq, event}: OutboxRow): OutboxEntry => ({seq, event: JSON.parse(event)});

export const outboxStore = (db: Db): OutboxStore => {
  const state = stateStore(db);
  const sequences = sequenceStore(db);
  const last = async () => sequences.last(sequence);
  const floor = async () => Number((await state.read(floorName)) ?? 0);

  return {
    last,
    floor,
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
    async append(event) {
      const seq = await sequences.next(sequence);
      await query(db, 'INSERT INTO outbox (seq, event) VALUES (?, ?)', [seq, JSON.stringify(event)]);
      return seq;
    },
    async rewrite(entries) {
      for (const {seq, event} of entries)
        await query(db, 'UPDATE outbox SET event = ? WHERE seq = ?', [JSON.stringify(event), seq]);
    },
    async prune(seq) {
      if (seq <= (await floor())) return 0;
      const gone = await query(db, 'DELETE FROM outbox WHERE seq <= ? RETURNING seq', [seq]);
      await state.write(floorName, String(seq));
      return gone.length;
    },
    async renumber(seq) {
      const newest = await last();
      const [row] = await query<{first: number | null}>(db, 'SELECT min(seq) AS first FROM outbox');
      // Higher than all present numbers, so that no updated row collides with a row that is not updated yet.
      const newFloor = Math.max(seq, newest);
      const delta = newFloor + 1 - (row?.first ?? newest + 1);
      await query(db, 'UPDATE outbox SET seq = seq + ?', [delta]);
      await sequences.raise(sequence, newest + delta);
      await state.write(floorName, String(newFloor));
      // The event log is older than what was read of it, too.
      await renewEpoch(db);
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

export const appliedStore = (db: Db): AppliedStore => ({
  of: async origin => (await query<AppliedRow>(db, 'SELECT seq FROM applied WHERE origin = ?', [origin]))[0]?.seq ?? 0,
  async all() {
    const rows = await query<AppliedRow>(db, 'SELECT origin, seq FROM applied');
    return new Map(rows.map(({origin, seq}) => [origin, seq]));
  },
  note: async (origin, seq) => void (await query(db, noting, [origin, seq])),
});
