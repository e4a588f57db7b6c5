// Rebuild of all data derived from the records: digests, readable tables and the hash. It works in slices. A slice is checked
// without the writer and is written only if it contains an error, so mail and callers wait for one slice at most.

import type {NodeStore, NodeTransaction, RecordReads, RecordStore} from '../services/node-store.ts';
import {type ChangedKey, type Kind, kinds, recordsByName} from '../services/records.ts';
import {changedKeys} from './changed-record.ts';
import {hexNumber, readSum, writeSum} from './config-hash.ts';
import {parentOf, settle} from './liveness.ts';
import {compareShown, repairShown} from './projection.ts';

interface Needs {
  store: NodeStore;
  /** Runs a transaction of the writer. */
  write<T>(work: (tx: NodeTransaction) => Promise<T>): Promise<T>;
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
  const {isWrong, upTo} = await store.atOneMoment(async ({records}) => check(records, slice));
  if (isWrong) await onRepaired(await write(async ({records}) => repair(records, slice)));
  return upTo;
};

const recordsPerSlice = 500;
const digestsPerPage = 5000;

const check = async (reads: RecordReads, {kind, after}: Slice) => {
  const records = await reads.ofKind(kind, {after, limit: recordsPerSlice});
  // The last slice of a kind has no upper bound: rows beyond it have no records.
  const upTo = records.length === recordsPerSlice ? records.at(-1)?.id : undefined;
  const claims = await reads.withUniqueKeys(records);
  const parents = await reads.findAll(records.flatMap(record => parentOf(record) ?? []));
  const settled = settle(records, recordsByName([...claims, ...parents, ...records]));
  const changed = settled.flatMap((record, n) => (record === records[n] ? [] : [{before: records[n], after: record}]));
  const differences = await compareShown(reads, {kind, after, upTo}, settled);
  const isWrong = changed.length + differences.missing.length + differences.wrong.length > 0;
  return {upTo, changed, differences, isWrong};
};

/** Checks again, as something may have been written since. */
const repair = async (records: RecordStore, slice: Slice): Promise<ChangedKey[]> => {
  const {changed, differences} = await check(records, slice);
  await records.save(changed.map(({after}) => after));
  await repairShown(records, slice.kind, differences);

  const rows = [...differences.missing, ...differences.wrong].map(row => ({
    kind: slice.kind,
    id: row.id,
    parent_id: 'domain_id' in row && slice.kind !== 'api_key' && row.domain_id !== null ? Number(row.domain_id) : null,
  }));
  return [...changedKeys(changed), ...rows];
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
