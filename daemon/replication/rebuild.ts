// Rebuild of all data derived from the fields of the records: the columns that a record is found by, digests and the hash. It works in
// slices. A slice is checked without the writer and is written only if it contains an error, so mail and callers wait for one slice at most.
import type {ChangedRecord} from '../services/cluster/replication-ports.ts';
import type {NodeStore, RecordReads, RecordStore, RecordTransaction} from '../services/node-store.ts';
import {
  type ChangedKey,
  type Kind,
  kinds,
  type RecordDigest,
  type RecordKey,
  recordsByName,
  type StoredRecord,
} from '../services/records.ts';
import {digestOf, hexNumber, parentOf, readSum, settle, writeSum} from './apply.ts';
import {parentIdOf, uniqueKeyOf} from './config-merge.ts';
import {changedKeys} from './notifier.ts';

interface Needs {
  store: NodeStore;
  /** Runs a transaction of the writer. */
  write<T>(work: (tx: RecordTransaction) => Promise<T>): Promise<T>;
  now: () => number;
  /** Called after each repaired slice, and after the hash was repaired. */
  onRepaired(changed: ChangedKey[]): Promise<void>;
}

export const rebuild = async (needs: Needs): Promise<void> => {
  const {store, write, now, onRepaired} = needs;
  for (const kind of kinds) {
    let after: number | undefined = 0;
    while (after !== undefined) after = await rebuildSlice({kind, after}, needs);
  }

  const isHashWrong = await store.atOneMoment(async ({records}) => (await sumOfDigests(records)) !== (await readSum(records)));
  if (!isHashWrong) return;
  await write(async ({records}) => {
    const sum = await sumOfDigests(records);
    if (sum !== (await readSum(records))) await writeSum(records, sum, now());
  });
  await onRepaired([]);
};

interface Slice {
  kind: Kind;
  /** The slice begins after this id. */
  after: number;
}

/** Resolves with the id after which the next slice begins, if there is one. */
const rebuildSlice = async (slice: Slice, {store, write, onRepaired}: Needs): Promise<number | undefined> => {
  const {changed, upTo} = await store.atOneMoment(async ({records}) => check(records, slice));
  if (changed.length > 0) await onRepaired(await write(async ({records}) => repair(records, slice)));
  return upTo;
};

const recordsPerSlice = 500;
const digestsPerPage = 5000;

const check = async (reads: RecordReads, {kind, after}: Slice): Promise<{upTo: number | undefined; changed: ChangedRecord[]}> => {
  const stored = await reads.ofKind(kind, {after, limit: recordsPerSlice});
  const upTo = stored.length === recordsPerSlice ? stored.at(-1)?.id : undefined;
  const records = stored.map(withRightKeys);
  const claims = await reads.withUniqueKeys(records);
  const parents = await reads.findAll(records.flatMap(record => parentOf(record) ?? []));
  const settled = settle(records, recordsByName([...claims, ...parents, ...records]));
  return {upTo, changed: settled.flatMap((record, n) => (record === stored[n] ? [] : [{before: stored[n], after: record}]))};
};

/** No digest covers the columns that a record is found by. */
const withRightKeys = (record: StoredRecord): StoredRecord => {
  const [unique_key, parent_id] = [uniqueKeyOf(record.kind, record), parentIdOf(record.kind, record)];
  return record.unique_key === unique_key && record.parent_id === parent_id ? record : {...record, unique_key, parent_id};
};

/** Checks again, as something may have been written since. */
const repair = async (records: RecordStore, slice: Slice): Promise<ChangedKey[]> => {
  const {changed} = await check(records, slice);
  await records.save(changed.map(({after}) => after));
  return changedKeys(changed);
};

const sumOfDigests = async (records: RecordReads): Promise<bigint> => {
  let sum = 0n;
  let page = await records.digestsAfter(undefined, digestsPerPage);
  while (page.length > 0) {
    for (const {digest} of page) sum += hexNumber(digest);
    page = await records.digestsAfter(page.at(-1), digestsPerPage);
  }
  return BigInt.asUintN(256, sum);
};

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
