// Tests that need a PostgreSQL server.
import test from 'ava';
import {createClosers} from '../../daemon/node/closers.ts';
import {forFile} from './for-file.ts';
import {isPostgresInstalled} from './postgres-programs.ts';
import {type PostgresOptions, type PostgresServer, startPostgres} from './postgres-server.ts';
import {testWith} from './test-with.ts';

export const testWithPostgres = testWith('PostgreSQL', isPostgresInstalled() ? undefined : 'PostgreSQL is not installed');

/** The same, started when it is first asked for: AVA runs the hooks of a file at the same time. */
export const lazyPostgres = (): (() => Promise<PostgresServer>) => {
  const closers = createClosers(error => {
    throw error;
  });
  let server: Promise<PostgresServer> | undefined;
  test.after.always(closers.closeAll);
  return async () => {
    server ??= startPostgres({teardown: closers.add});
    return server;
  };
};

/** One server for all tests of a file; each of them creates a database of its own. */
export const sharedPostgres = (options: PostgresOptions = {}): (() => PostgresServer) => {
  if (isPostgresInstalled()) return forFile(async owner => startPostgres(owner, options));
  return () => {
    throw new Error('PostgreSQL is not installed');
  };
};
