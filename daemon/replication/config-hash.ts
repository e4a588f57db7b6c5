// Digests of records, and the hash of the whole configuration: the sum of all digests modulo 2^256, which does not depend on
// their order.

import {createHash} from 'node:crypto';
import type {RecordReads, RecordStore} from '../services/node-store.ts';
import type {ConfigRecord} from '../services/records.ts';

/** The digest covers values, not stamps: two nodes with the same values are configured alike. */
export const digestOf = ({kind, id, fields}: ConfigRecord): string => {
  const values = Object.keys(fields)
    .sort()
    .map(name => [name, fields[name]?.[0]]);
  return createHash('sha256')
    .update(JSON.stringify([kind, id, values]))
    .digest('hex');
};

/** A damaged number reads as -1, which no sum can be, so the next rebuild replaces it. */
export const hexNumber = (hex: string): bigint => {
  if (hex === '') return 0n;
  return /^[0-9a-f]+$/.test(hex) ? BigInt(`0x${hex}`) : -1n;
};

export const readSum = async (records: RecordReads): Promise<bigint> => hexNumber(await records.sum());

export const writeSum = async (records: RecordStore, sum: bigint, nowMs: number): Promise<void> => {
  await records.writeSum(BigInt.asUintN(256, sum).toString(16), nowMs);
};
