// A resource that is started before the first test of a file and closed after the last.
import test from 'ava';
import {createClosers} from '../../daemon/node/closers.ts';
import type {Owner} from './daemon.ts';

/** The result of `start` is available once tests run. */
export const forFile = <T>(start: (owner: Owner) => Promise<T>): (() => T) => {
  const failures: unknown[] = [];
  const closers = createClosers(error => failures.push(error));
  let started: T | undefined;

  test.before(async () => {
    started = await start({teardown: closers.add});
  });
  test.after.always(async t => {
    await closers.closeAll();
    t.deepEqual(failures, []);
  });
  return () => {
    if (started === undefined) throw new Error('nothing is there before the tests run');
    return started;
  };
};
