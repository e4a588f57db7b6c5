// The one way configuration changes, whether the change comes from this node's API, a peer, a snapshot or a repair.
import {createHash} from 'node:crypto';
import {
  type ConfigRecord,
  childrenOf,
  findRecord,
  type Kind,
  type RecordKey,
  recordsWithUniqueKey,
  type StoredRecord,
  saveRecord,
} from '../store/config-record.ts';
import type {Db} from '../store/database.ts';
import {readState, writeState} from '../store/local-state.ts';
import {isComplete, losersOf, mergeStates, parentIdOf, type RecordState, rulesOf, uniqueKeyOf} from './config-merge.ts';
import {project, unproject} from './projection.ts';

/** Part of a record's state: the fields that were written, or the deletion. Applying it twice changes nothing. */
export type Change = ConfigRecord;

/** A record that may look different after a change, and the one it belongs to. */
export type Touched = RecordKey & Pick<StoredRecord, 'parent_id'>;

const childKinds = (Object.keys(rulesOf) as Kind[]).filter(kind => rulesOf[kind].parent !== undefined);

/**
 * Merges `changes` and brings the readable tables, the record digests and the configuration hash in step, all inside the
 * caller's transaction. Returns the records that may look different now, with those that follow from them: the rivals
 * for a name, the children of a domain.
 */
export const apply = async (tx: Db, changes: Change[], nowMs: number): Promise<Touched[]> => {
  const touched = new Map<string, RecordKey>();
  for (const change of changes) for (const key of await merge(tx, change)) touched.set(`${key.kind}/${key.id}`, key);

  // Parents first: whether a child is live depends on them.
  const keys = [...touched.values()].toSorted(
    (a, b) => Number(childKinds.includes(a.kind)) - Number(childKinds.includes(b.kind)),
  );
  // Names are freed before they are taken, or the tables' own unique keys would object.
  const settled = await Promise.all(keys.map(async key => settle(tx, key)));
  for (const {record, isLive} of settled) if (!isLive) await unproject(tx, record);
  let difference = 0n;
  for (const {record, isLive} of settled) {
    if (isLive) await project(tx, record);
    const digest = isLive ? digestOf(record) : '';
    if (digest === record.digest) continue;
    difference += number(digest) - number(record.digest);
    await saveRecord(tx, {...record, digest});
  }
  if (difference !== 0n) await moveHash(tx, difference, nowMs);
  return settled.map(({record: {kind, id, parent_id}}) => ({kind, id, parent_id}));
};

/** Order-free: the sum, modulo 2^256, of the digests of all live records. Equal exactly when the live records are. */
export const readConfigHash = async (db: Db): Promise<{config_hash: string; changed_at_ms: number}> => ({
  config_hash: `sha256:${((await readState(db, 'config_sum')) ?? '').padStart(64, '0')}`,
  changed_at_ms: Number((await readState(db, 'config_changed_at')) ?? 0),
});

/** Returns the records that may be live now and were not, or the other way round. */
const merge = async (tx: Db, change: Change): Promise<RecordKey[]> => {
  const merged = await mergeInto(tx, change);
  if (!merged) return [];
  const affected = await affectedBy(tx, merged);
  if (merged.deleted !== null) for (const key of affected) await mergeInto(tx, {...key, fields: {}, deleted: null});
  return affected;
};

const mergeInto = async (tx: Db, change: Change): Promise<StoredRecord | undefined> => {
  const {kind, id} = change;
  const before = await findRecord(tx, change);
  const state = await withParent(tx, kind, mergeStates(kind, before ?? {fields: {}, deleted: null}, change));
  if (before && before.deleted === state.deleted && canonical(before.fields) === canonical(state.fields)) return undefined;

  const after: StoredRecord = {
    kind,
    id,
    ...state,
    unique_key: uniqueKeyOf(kind, state),
    parent_id: parentIdOf(kind, state),
    digest: before?.digest ?? '',
  };
  await saveRecord(tx, after);
  return after;
};

/** What belongs to a deleted record is deleted with it, whenever and wherever it was made: its secrets have to go as well. */
const withParent = async (tx: Db, kind: Kind, state: RecordState): Promise<RecordState> => {
  const {parent} = rulesOf[kind];
  const parentId = parentIdOf(kind, state);
  if (!parent || parentId === null) return state;
  const holder = await findRecord(tx, {kind: parent.kind, id: parentId});
  return holder?.deleted ? mergeStates(kind, state, {fields: {}, deleted: holder.deleted}) : state;
};

const affectedBy = async (tx: Db, record: StoredRecord): Promise<RecordKey[]> => {
  const rivals = record.unique_key === null ? [record] : await recordsWithUniqueKey(tx, record.kind, record.unique_key);
  const hasChildren = childKinds.some(kind => rulesOf[kind].parent?.kind === record.kind);
  if (!hasChildren) return rivals.map(keyOf);

  const children = await Promise.all(rivals.map(async ({id}) => childrenOf(tx, childKinds, id)));
  return [...rivals.map(keyOf), ...children.flat()];
};

const settle = async (tx: Db, key: RecordKey): Promise<{record: StoredRecord; isLive: boolean}> => {
  const record = await findRecord(tx, key);
  if (!record) throw new Error(`config record ${key.kind}/${key.id} vanished inside its transaction`);
  return {record, isLive: await isLive(tx, record)};
};

const isLive = async (tx: Db, record: StoredRecord): Promise<boolean> => {
  if (record.deleted !== null || !isComplete(record.kind, record)) return false;
  if (record.unique_key !== null) {
    const claims = await recordsWithUniqueKey(tx, record.kind, record.unique_key);
    const created = ({fields}: StoredRecord) => fields.created_at?.[1];
    const known = claims.flatMap(claim => {
      const stamp = created(claim);
      return stamp === undefined ? [] : [{id: claim.id, created: stamp, deleted: claim.deleted}];
    });
    if (losersOf(known).has(record.id)) return false;
  }
  const {parent} = rulesOf[record.kind];
  if (!parent || record.parent_id === null) return true;
  const holder = await findRecord(tx, {kind: parent.kind, id: record.parent_id});
  return holder !== undefined && (await isLive(tx, holder));
};

const moveHash = async (tx: Db, difference: bigint, nowMs: number): Promise<void> => {
  const sum = BigInt.asUintN(256, number((await readState(tx, 'config_sum')) ?? '') + difference);
  await writeState(tx, 'config_sum', sum.toString(16));
  await writeState(tx, 'config_changed_at', String(nowMs));
};

/** Values only: stamps tell when, and two nodes with the same values are configured alike. */
const digestOf = ({kind, id, fields}: StoredRecord): string => {
  const values = Object.keys(fields)
    .sort()
    .map(name => [name, fields[name]?.[0]]);
  return createHash('sha256')
    .update(JSON.stringify([kind, id, values]))
    .digest('hex');
};

const canonical = (fields: ConfigRecord['fields']): string =>
  JSON.stringify(
    Object.keys(fields)
      .sort()
      .map(name => [name, fields[name]]),
  );

const number = (hex: string): bigint => (hex === '' ? 0n : BigInt(`0x${hex}`));

const keyOf = ({kind, id}: RecordKey): RecordKey => ({kind, id});
