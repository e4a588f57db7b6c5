// Projection of config records into the readable tables.

import {groupBy} from '../../shared/group-by.ts';
import type {ChangedRecord} from '../services/cluster/replication-ports.ts';
import type {Differences, IdRange, RecordReads, RecordStore} from '../services/node-store.ts';
import type {Kind, Readable, StoredRecord} from '../services/records.ts';
import {stampMs} from './clock.ts';
import {knownValues} from './record-values.ts';

/** Updates the readable tables after the records have changed. */
export const project = async (records: RecordStore, changed: ChangedRecord[]): Promise<void> => {
  // Names are freed before they are taken, or the unique keys of the tables would fail.
  const gone = changed.filter(
    ({before, after}) => before && isLive(before) && (!isLive(after) || before.unique_key !== after.unique_key),
  );
  for (const [kind, some] of groupBy(gone, ({after}) => after.kind))
    await records.hide(
      kind,
      some.map(({after}) => after.id),
    );
  const live = changed.map(({after}) => after).filter(isLive);
  for (const [kind, some] of groupBy(live, record => record.kind)) await records.show(kind, some.map(toReadable));
};

/** Differences between the readable table of `kind` and its records, for ids in `range`. */
export const compareShown = async (
  reads: RecordReads,
  {kind, ...range}: IdRange & {kind: Kind},
  records: StoredRecord[],
): Promise<Differences> => reads.compareShown(kind, range, records.filter(isLive).map(toReadable));

/** Corrects the differences that were found. */
export const repairShown = async (records: RecordStore, kind: Kind, {missing, wrong}: Differences): Promise<void> => {
  await records.hide(
    kind,
    wrong.map(({id}) => id),
  );
  await records.restore(kind, missing);
};

const isLive = ({digest}: StoredRecord): boolean => digest !== '';

/** Converts a live record, whose values are valid. */
const toReadable = ({kind, id, fields}: StoredRecord): Readable => {
  const values = {id, ...knownValues(kind, fields)};
  return (kind === 'domain' ? {...values, updated_at: lastWriteOf(fields)} : values) as unknown as Readable;
};

const lastWriteOf = (fields: StoredRecord['fields']): string => {
  const last = Object.values(fields)
    .map(([, stamp]) => stamp)
    .sort()
    .at(-1);
  return new Date(stampMs(last ?? '')).toISOString();
};
