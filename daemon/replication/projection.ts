// Projection of mergeable records to the form in which they are read.

import {groupBy} from '../../shared/group-by.ts';
import type {ChangedRecord} from '../services/cluster/replication-ports.ts';
import type {Differences, IdRange, RecordReads, RecordStore} from '../services/node-store.ts';
import type {Kind, Readable, StoredRecord} from '../services/records.ts';
import {stampMs} from './clock.ts';
import {knownValues} from './record-values.ts';

/** Brings what is shown in step with what has changed. */
export const project = async (records: RecordStore, changed: ChangedRecord[]): Promise<void> => {
  // Names are freed before they are taken, or the tables' own unique keys would object.
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

/** Where what is shown of `kind` is not what the records with ids in `range` say. */
export const compareShown = async (
  reads: RecordReads,
  {kind, ...range}: IdRange & {kind: Kind},
  records: StoredRecord[],
): Promise<Differences> => reads.compareShown(kind, range, records.filter(isLive).map(toReadable));

/** Corrects what was found to be different. */
export const repairShown = async (records: RecordStore, kind: Kind, {missing, wrong}: Differences): Promise<void> => {
  await records.hide(
    kind,
    wrong.map(({id}) => id),
  );
  await records.restore(kind, missing);
};

const isLive = ({digest}: StoredRecord): boolean => digest !== '';

/** Of a live record, whose values are right. */
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
