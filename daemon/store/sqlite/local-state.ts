// State of this node that is not replicated: identity, clock, sequences, running sums, and the latest use of each key.
import type {SequenceReads, SequenceStore} from '../../services/node-store.ts';
import type {KeyUseReads, KeyUseStore} from '../../services/ports.ts';
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
const counting = `
INSERT INTO local_state (name, value) VALUES (?, '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(value + 1 AS TEXT) RETURNING value`;

export const readState = async (db: Db, name: string): Promise<string | undefined> => {
  const [row] = await query<Pick<LocalStateRow, 'value'>>(db, reading, [name]);
  return row?.value;
};

export const writeState = async (tx: Db, name: string, value: string): Promise<void> => writeStates(tx, {[name]: value});

export const writeStates = async (tx: Db, values: Record<string, string>): Promise<void> => {
  await query(tx, writing, [JSON.stringify(values)]);
};

/** The latest number of a sequence; 0 before the first one. */
export const lastInSequence = async (db: Db, sequence: string): Promise<number> =>
  Number((await readState(db, `sequence:${sequence}`)) ?? 0);

/** Numbers start at 1. */
export const nextInSequence = async (tx: Db, sequence: string): Promise<number> => {
  const [row] = await query<Pick<LocalStateRow, 'value'>>(tx, counting, [`sequence:${sequence}`]);
  return Number(row?.value);
};

export const sequenceReads = (db: Db): SequenceReads => ({last: async sequence => lastInSequence(db, sequence)});

export const sequenceStore = (tx: Db): SequenceStore => ({
  ...sequenceReads(tx),
  next: async sequence => nextInSequence(tx, sequence),
  async raise(sequence, reached) {
    if (reached > (await lastInSequence(tx, sequence))) await writeState(tx, `sequence:${sequence}`, String(reached));
  },
});

const recording = `
INSERT INTO key_use (key_id, last_used_at) SELECT value->>'$.key_id', value->>'$.last_used_at' FROM json_each(?) WHERE true
ON CONFLICT (key_id) DO UPDATE SET last_used_at = excluded.last_used_at WHERE key_use.last_used_at < excluded.last_used_at`;

export const keyUseReads = (db: Db): KeyUseReads => ({
  list: async () => query(db, 'SELECT key_id, last_used_at FROM key_use'),
});

export const keyUseStore = (tx: Db): KeyUseStore => ({
  ...keyUseReads(tx),
  record: async uses => void (await query(tx, recording, [JSON.stringify(uses)])),
});
