// Tests that need a PostgreSQL server.
import {forFile} from './for-file.ts';
import {postgresMissing} from './postgres-programs.ts';
import {type PostgresOptions, type PostgresServer, startPostgres} from './postgres-server.ts';
import {testWith} from './test-with.ts';

export const testWithPostgres = testWith('PostgreSQL', postgresMissing());

/** One server for all tests of a file; each of them creates a database of its own. */
export const usePostgres = (options: PostgresOptions = {}): (() => PostgresServer) => {
  const missing = postgresMissing();
  if (missing === undefined) return forFile(async owner => startPostgres(owner, options));
  return () => {
    throw new Error(missing);
  };
};
