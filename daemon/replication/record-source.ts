import {childrenOf, findRecords, recordsWithUniqueKeys} from '../store/sqlite/config-record.ts';
import type {Db} from '../store/sqlite/database.ts';
import {childKinds, type RecordSource} from './working-set.ts';

export const sourceIn = (db: Db): RecordSource => ({
  find: async keys => findRecords(db, keys),
  withUniqueKeys: async (kind, uniqueKeys) => recordsWithUniqueKeys(db, kind, uniqueKeys),
  childrenOf: async parentIds => childrenOf(db, childKinds, parentIds),
});
