// Digests of records, and the hash of the whole configuration: their sum, modulo 2^256, which does not depend on any order.
import {createHash} from 'node:crypto';
import type {ConfigRecord} from '../store/sqlite/config-record.ts';
import type {Db} from '../store/sqlite/database.ts';
import {readState, writeStates} from '../store/sqlite/local-state.ts';

/** Values only: stamps tell when, and two nodes with the same values are configured alike. */
export const digestOf = ({kind, id, fields}: ConfigRecord): string => {
  const values = Object.keys(fields)
    .sort()
    .map(name => [name, fields[name]?.[0]]);
  return createHash('sha256')
    .update(JSON.stringify([kind, id, values]))
    .digest('hex');
};

/** A damaged number reads as -1, which no sum is: the next rebuild finds it wrong and replaces it. */
export const hexNumber = (hex: string): bigint => {
  if (hex === '') return 0n;
  return /^[0-9a-f]+$/.test(hex) ? BigInt(`0x${hex}`) : -1n;
};

/** Equal on two nodes exactly when their live records are. */
export const readConfigHash = async (db: Db): Promise<{config_hash: string; changed_at_ms: number}> => ({
  config_hash: `sha256:${((await readState(db, 'config_sum')) ?? '').padStart(64, '0')}`,
  changed_at_ms: Number((await readState(db, 'config_changed_at')) ?? 0),
});

export const readSum = async (db: Db): Promise<bigint> => hexNumber((await readState(db, 'config_sum')) ?? '');

export const writeSum = async (tx: Db, sum: bigint, nowMs: number): Promise<void> => {
  await writeStates(tx, {config_sum: BigInt.asUintN(256, sum).toString(16), config_changed_at: String(nowMs)});
};
