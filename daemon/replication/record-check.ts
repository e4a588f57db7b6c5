// Check of the configuration records for damage: each live one has its digest beside it.
import {digestsAfter, findRecord, type RecordDigest, type RecordKey, recordsAfter} from '../store/sqlite/config-record.ts';
import type {Db} from '../store/sqlite/database.ts';
import {digestOf} from './config-hash.ts';

const recordsPerPage = 500;

/** Tombstones, and what waits for the rest of itself, have no digest and are taken as they are. */
export const findDamagedRecords = async (db: Db): Promise<RecordKey[]> => {
  const damaged: RecordKey[] = [];
  for (let after: RecordKey | undefined; ; ) {
    const page: RecordDigest[] = await digestsAfter(db, after, recordsPerPage);
    const last = page.at(-1);
    if (!last) return damaged;
    const isWhole = await pageIsRight(db, after).catch(unreadable);
    if (!isWhole) for (const key of page) if (!(await isRight(db, key).catch(unreadable))) damaged.push(keyOf(key));
    after = last;
  }
};

const pageIsRight = async (db: Db, after: RecordKey | undefined): Promise<boolean> =>
  (await recordsAfter(db, after, recordsPerPage)).every(record => record.digest === '' || digestOf(record) === record.digest);

const isRight = async (db: Db, key: RecordKey): Promise<boolean> => {
  const record = await findRecord(db, key);
  return record !== undefined && (record.digest === '' || digestOf(record) === record.digest);
};

/** Text that was JSON. */
const unreadable = (error: unknown): false => {
  if (error instanceof SyntaxError) return false;
  throw error;
};

const keyOf = ({kind, id}: RecordKey): RecordKey => ({kind, id});
