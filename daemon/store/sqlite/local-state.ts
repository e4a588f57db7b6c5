// What this node knows of itself and no other node is told: identity, clock, sequences, running sums.
import type {Db} from './database.ts';
import {type Procedure, preparedIn} from './prepared.ts';

interface LocalStateRow {
  name: string;
  value: string;
}

export const readState = async (db: Db, name: string): Promise<string | undefined> => {
  const row = await db<LocalStateRow>('local_state').where({name}).first('value');
  return row?.value;
};

export const writeState = async (db: Db, name: string, value: string): Promise<void> => {
  await db<LocalStateRow>('local_state').insert({name, value}).onConflict('name').merge();
};

const named: Procedure = {sql: 'SELECT name, value FROM local_state WHERE name IN (SELECT value FROM json_each(?))'};

/** Those that are there. */
export const readStates = async (db: Db, names: readonly string[]): Promise<Map<string, string>> => {
  const rows = await preparedIn(db).all<LocalStateRow>(named, [JSON.stringify(names)]);
  return new Map(rows.map(({name, value}) => [name, value]));
};

/** The latest number of a sequence; 0 before the first. */
export const readSequence = async (db: Db, sequence: string): Promise<number> =>
  Number((await readState(db, `sequence:${sequence}`)) ?? 0);

/** A sequence goes on from `reached` at least. */
export const raiseSequence = async (db: Db, sequence: string, reached: number): Promise<void> => {
  if (reached > (await readSequence(db, sequence))) await writeState(db, `sequence:${sequence}`, String(reached));
};
