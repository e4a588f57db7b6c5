// Rebuild of everything that follows from the records: digests, readable tables and the hash. It works in slices. A slice is checked
// without the writer, and written only if something in it is wrong: mail and callers wait for one slice at most.
import {
  digestsAfter,
  findRecords,
  type Kind,
  kinds,
  recordsByName,
  recordsOfKind,
  recordsWithUniqueKeys,
  saveRecords,
} from '../store/sqlite/config-record.ts';
import {type Database, type Db, readTogether} from '../store/sqlite/database.ts';
import {type ChangedKey, changedKeys} from './changed-record.ts';
import {hexNumber, readSum, writeSum} from './config-hash.ts';
import {parentOf, settle} from './liveness.ts';
import {compareTable, repairTable} from './projection.ts';

interface Needs {
  database: Database;
  /** Runs a transaction of the writer. */
  write<T>(work: (tx: Db) => Promise<T>): Promise<T>;
  now: () => number;
  /** Called after each slice that was repaired, and once the hash was. */
  onRepaired(changed: ChangedKey[]): Promise<void>;
}

export const rebuild = async (needs: Needs): Promise<void> => {
  const {database, write, now, onRepaired} = needs;
  for (const kind of kinds) {
    let after: number | undefined = 0;
    while (after !== undefined) after = await rebuildSlice({kind, after}, needs);
  }

  const isHashWrong = await readTogether(database, async db => (await sumOfDigests(db)) !== (await readSum(db)));
  if (!isHashWrong) return;
  await write(async tx => {
    const sum = await sumOfDigests(tx);
    if (sum !== (await readSum(tx))) await writeSum(tx, sum, now());
  });
  await onRepaired([]);
};

interface Slice {
  kind: Kind;
  /** The id after which it begins. */
  after: number;
}

/** Resolves with the id after which the next slice begins, if there is one. */
const rebuildSlice = async (slice: Slice, {database, write, onRepaired}: Needs): Promise<number | undefined> => {
  const {isWrong, upTo} = await readTogether(database, async db => check(db, slice));
  if (isWrong) await onRepaired(await write(async tx => repair(tx, slice)));
  return upTo;
};

const recordsPerSlice = 500;
const digestsPerPage = 5000;

const check = async (db: Db, {kind, after}: Slice) => {
  const records = await recordsOfKind(db, kind, {after, limit: recordsPerSlice});
  // The last slice of a kind has no end: rows beyond it have no records.
  const upTo = records.length === recordsPerSlice ? records.at(-1)?.id : undefined;
  const claims = await recordsWithUniqueKeys(db, records);
  const parents = await findRecords(
    db,
    records.flatMap(record => parentOf(record) ?? []),
  );
  const settled = settle(records, recordsByName([...claims, ...parents, ...records]));
  const changed = settled.flatMap((record, n) => (record === records[n] ? [] : [{before: records[n], after: record}]));
  const differences = await compareTable(db, {kind, after, upTo}, settled);
  const isWrong = changed.length + differences.missing.length + differences.wrong.length > 0;
  return {upTo, changed, differences, isWrong};
};

/** Checks again: something may have been written since. */
const repair = async (tx: Db, slice: Slice): Promise<ChangedKey[]> => {
  const {changed, differences} = await check(tx, slice);
  await saveRecords(
    tx,
    changed.map(({after}) => after),
  );
  await repairTable(tx, slice.kind, differences);

  const rows = [...differences.missing, ...differences.wrong].map(row => ({
    kind: slice.kind,
    id: row.id,
    parent_id: 'domain_id' in row && slice.kind !== 'api_key' && row.domain_id !== null ? Number(row.domain_id) : null,
  }));
  return [...changedKeys(changed), ...rows];
};

const sumOfDigests = async (db: Db): Promise<bigint> => {
  let sum = 0n;
  let page = await digestsAfter(db, undefined, digestsPerPage);
  while (page.length > 0) {
    for (const {digest} of page) sum += hexNumber(digest);
    page = await digestsAfter(db, page.at(-1), digestsPerPage);
  }
  return BigInt.asUintN(256, sum);
};
