// State of this node that is not replicated: identity, clock, sequences, running sums, and the latest use of each key.
import type {SequenceStore} from '../../services/node-store.ts';
import type {KeyUseStore, StateStore} from '../../services/ports.ts';
import {type Db, insertOf, query} from './db.ts';

interface LocalStateRow {
  name: string;
  value: string;
}

const reading = 'SELECT value FROM local_state WHERE name = ?';
const counting = `
INSERT INTO local_state (name, value) VALUES (?, '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(local_state.value AS bigint) + 1 AS text) RETURNING value`;

export const readState = async (db: Db, name: string): Promise<string | undefined> => {
  const [row] = await query<Pick<LocalStateRow, 'value'>>(db, reading, [name]);
  return row?.value;
};

export const writeState = async (tx: Db, name: string, value: string): Promise<void> => writeStates(tx, {[name]: value});

export const writeStates = async (tx: Db, values: Record<string, string>): Promise<void> => {
  const {dialect} = tx;
  const sql = `${insertOf(dialect, 'local_state', ['name', 'value'])} ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
  await query(tx, sql, [dialect.json(Object.entries(values).map(([name, value]) => ({name, value})))]);
};

export const stateStore = (db: Db): StateStore => ({
  read: async name => readState(db, name),
  write: async (name, value) => writeState(db, name, value),
});

export const sequenceStore = (db: Db): SequenceStore => {
  const last = async (sequence: string) => Number((await readState(db, `sequence:${sequence}`)) ?? 0);
  return {
    last,
    async next(sequence) {
      const [row] = await query<Pick<LocalStateRow, 'value'>>(db, counting, [`sequence:${sequence}`]);
      return Number(row?.value);
    },
    async raise(sequence, reached) {
      if (reached > (await last(sequence))) await writeState(db, `sequence:${sequence}`, String(reached));
    },
  };
};

const laterUse = `
ON CONFLICT (key_id) DO UPDATE SET last_used_at = excluded.last_used_at WHERE key_use.last_used_at < excluded.last_used_at`;

export const keyUseStore = (db: Db): KeyUseStore => ({
  list: async () => query(db, 'SELECT key_id, last_used_at FROM key_use'),
  async record(uses) {
    const sql = `${insertOf(db.dialect, 'key_use', ['key_id', 'last_used_at'])} ${laterUse}`;
    await query(db, sql, [db.dialect.json(uses)]);
  },
});
