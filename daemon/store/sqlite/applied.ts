// Progress of this node with the events of each other node.
import type {AppliedReads, AppliedStore} from '../../services/node-store.ts';
import type {Db} from './database.ts';
import {query} from './query.ts';

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
