// How far this node has applied the events of each other node.
import type {Db} from './database.ts';
import {query} from './query.ts';

interface AppliedRow {
  /** Node number of the origin. */
  origin: number;
  seq: number;
}

const reached = 'SELECT seq FROM applied WHERE origin = ?';
const reach = `
INSERT INTO applied (origin, seq) VALUES (?, ?)
ON CONFLICT (origin) DO UPDATE SET seq = excluded.seq WHERE applied.seq < excluded.seq`;

export const readApplied = async (db: Db, origin: number): Promise<number> => {
  const [row] = await query<AppliedRow>(db, reached, [origin]);
  return Number(row?.seq ?? 0);
};

/** Of every origin there has been, by node number. */
export const listApplied = async (db: Db): Promise<Map<number, number>> => {
  const rows = await db<AppliedRow>('applied').select('origin', 'seq');
  return new Map(rows.map(({origin, seq}) => [Number(origin), Number(seq)]));
};

/** Never goes back. */
export const writeApplied = async (tx: Db, origin: number, seq: number): Promise<void> => {
  await query(tx, reach, [origin, seq]);
};
