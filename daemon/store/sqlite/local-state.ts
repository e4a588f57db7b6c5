// What this node knows of itself and no other node is told: identity, clock, sequences, running sums.
import type {Db} from './database.ts';
import {query} from './query.ts';

interface LocalStateRow {
  name: string;
  value: string;
}

const reading = 'SELECT value FROM local_state WHERE name = ?';
const writing = `
INSERT INTO local_state (name, value) SELECT key, value FROM json_each(?) WHERE true
ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

export const readState = async (db: Db, name: string): Promise<string | undefined> => {
  const [row] = await query<Pick<LocalStateRow, 'value'>>(db, reading, [name]);
  return row?.value;
};

export const writeState = async (db: Db, name: string, value: string): Promise<void> => writeStates(db, {[name]: value});

export const writeStates = async (db: Db, values: Record<string, string>): Promise<void> => {
  await query(db, writing, [JSON.stringify(values)]);
};

/** The latest number of a sequence; 0 before the first. */
export const readSequence = async (db: Db, sequence: string): Promise<number> =>
  Number((await readState(db, `sequence:${sequence}`)) ?? 0);

/** From 1. */
export const nextInSequence = async (tx: Db, sequence: string): Promise<number> => {
  const next = (await readSequence(tx, sequence)) + 1;
  await writeState(tx, `sequence:${sequence}`, String(next));
  return next;
};

/** A sequence goes on from `reached` at least. */
export const raiseSequence = async (db: Db, sequence: string, reached: number): Promise<void> => {
  if (reached > (await readSequence(db, sequence))) await writeState(db, `sequence:${sequence}`, String(reached));
};
