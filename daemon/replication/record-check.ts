// Check of the configuration records for damage: each live record is compared with its stored digest.

import type {RecordReads} from '../services/node-store.ts';
import type {RecordDigest, RecordKey} from '../services/records.ts';
import {digestOf} from './config-hash.ts';

const recordsPerPage = 500;

/** Tombstones and incomplete records have no digest and are not checked. */
export const findDamagedRecords = async (records: RecordReads): Promise<RecordKey[]> => {
  const damaged: RecordKey[] = [];
  for (let after: RecordKey | undefined; ; ) {
    const page: RecordDigest[] = await records.digestsAfter(after, recordsPerPage);
    const last = page.at(-1);
    if (!last) return damaged;
    const isWhole = await pageIsRight(records, after).catch(unreadable);
    if (!isWhole) for (const key of page) if (!(await isRight(records, key).catch(unreadable))) damaged.push(keyOf(key));
    after = last;
  }
};

const pageIsRight = async (records: RecordReads, after: RecordKey | undefined): Promise<boolean> =>
  (await records.after(after, recordsPerPage)).every(record => record.digest === '' || digestOf(record) === record.digest);

const isRight = async (records: RecordReads, key: RecordKey): Promise<boolean> => {
  const record = await records.find(key);
  return record !== undefined && (record.digest === '' || digestOf(record) === record.digest);
};

/** For text that is not valid JSON. */
const unreadable = (error: unknown): false => {
  if (error instanceof SyntaxError) return false;
  throw error;
};

const keyOf = ({kind, id}: RecordKey): RecordKey => ({kind, id});
