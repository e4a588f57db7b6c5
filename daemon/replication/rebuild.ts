// For a node that does not trust its own count: works out digests, readable tables and hash anew from the records, in slices.
// Each is looked at beside everything else and written only when something is wrong with it, so that mail and callers,
// who wait for the one writer, wait for a slice at most.
import {digestsAfter, type Kind, kinds, recordsOfKind, saveRecords} from '../store/sqlite/config-record.ts';
import {type Database, type Db, readTogether} from '../store/sqlite/database.ts';
import {readSum, type Touched, touchedBy, writeHash} from './apply.ts';
import {hexNumber, settleAll} from './merge-changes.ts';
import {compareTable, mendTable} from './projection.ts';
import {sourceIn} from './record-source.ts';
import {loadAround} from './working-set.ts';

interface Needs {
  database: Database;
  /** Runs a transaction of the writer. */
  write<T>(work: (tx: Db) => Promise<T>): Promise<T>;
  now: () => number;
  /** Called after each slice that was mended, and once the hash was. */
  onMended(touched: Touched[]): Promise<void>;
}

export const recount = async (needs: Needs): Promise<void> => {
  const {database, write, now, onMended} = needs;
  for (const kind of kinds) {
    let after: number | undefined = 0;
    while (after !== undefined) after = await recountSlice({kind, after}, needs);
  }

  const isHashWrong = await readTogether(database, async db => (await sumOfDigests(db)) !== (await readSum(db)));
  if (!isHashWrong) return;
  await write(async tx => {
    const sum = await sumOfDigests(tx);
    if (sum !== (await readSum(tx))) await writeHash(tx, sum, now());
  });
  await onMended([]);
};

interface Slice {
  kind: Kind;
  /** The id after which it begins. */
  after: number;
}

/** Resolves with the id after which the next slice begins, if there is one. */
const recountSlice = async (slice: Slice, {database, write, onMended}: Needs): Promise<number | undefined> => {
  const {isWrong, upTo} = await readTogether(database, async db => inspect(db, slice));
  if (isWrong) await onMended(await write(async tx => mend(tx, slice)));
  return upTo;
};

const recordsPerSlice = 500;
const digestsPerPage = 5000;

const inspect = async (db: Db, {kind, after}: Slice) => {
  const records = await recordsOfKind(db, kind, {after, limit: recordsPerSlice});
  // The last slice of a kind has no end: rows beyond it have no records.
  const upTo = records.length === recordsPerSlice ? records.at(-1)?.id : undefined;
  const set = await loadAround(sourceIn(db), records);
  settleAll(set, records);
  const changed = set.changed();
  const settled = records.flatMap(record => set.find(record) ?? []);
  const differences = await compareTable(db, {kind, after, upTo}, settled);
  const isWrong = changed.length + differences.missing.length + differences.wrong.length > 0;
  return {upTo, changed, differences, isWrong};
};

/** Looks again: something may have been written since. */
const mend = async (tx: Db, slice: Slice): Promise<Touched[]> => {
  const {changed, differences} = await inspect(tx, slice);
  await saveRecords(
    tx,
    changed.map(({after}) => after),
  );
  await mendTable(tx, slice.kind, differences);

  const rows = [...differences.missing, ...differences.wrong].map(row => ({
    kind: slice.kind,
    id: row.id,
    parent_id: 'domain_id' in row && slice.kind !== 'api_key' && row.domain_id !== null ? Number(row.domain_id) : null,
  }));
  return [...changed.flatMap(touchedBy), ...rows];
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
