// Small writes that wait for the disk at the same time are one transaction.
import type {Database, Db} from '../store/database.ts';
import {createBatch} from './batch.ts';

type Write = <T>(work: (tx: Db) => Promise<T>) => Promise<T>;

interface Waiting {
  work(tx: Db): Promise<void>;
}

/** What one of them throws undoes all of them, and all reject: for writes that fail when the database does. */
export const createSharedWrites = (database: Database, withRoom: <T>(write: () => Promise<T>) => Promise<T>): Write => {
  const submit = createBatch<Waiting>(async writes =>
    withRoom(async () =>
      database.write.transaction(async tx => {
        for (const {work} of writes) await work(tx);
      }),
    ),
  );

  return async <T>(work: (tx: Db) => Promise<T>): Promise<T> => {
    let result: T | undefined;
    await submit({
      work: async tx => {
        result = await work(tx);
      },
    });
    return result as T;
  };
};
