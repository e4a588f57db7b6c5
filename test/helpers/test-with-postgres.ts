// Tests that need a PostgreSQL server.
import {forFile} from './for-file.ts';
import {isPostgresInstalled} from './postgres-programs.ts';
import {type PostgresOptions, type PostgresServer, startPostgres} from './postgres-server.ts';
import {testWith} from './test-with.ts';

export const testWithPostgres = testWith('PostgreSQL', isPostgresInstalled() ? undefined : 'PostgreSQL is not installed');

/** One server for all tests of a file; each of them creates a database of its own. */
export const sharedPostgres = (options: PostgresOptions = {}): (() => PostgresServer) => {
  if (isPostgresInstalled()) return forFile(async owner => startPostgres(owner, options));
  return () => {
    throw new Error('PostgreSQL is not installed');
  };
};
