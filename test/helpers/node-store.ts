// The make of the store that test nodes use. With TEST_STORE=postgres the tests of a room run with one PostgreSQL for all nodes of a
// cluster: one server for each test file, one database for each cluster.
import type {PostgresServer} from './postgres-server.ts';

/** Whether nodes of tests that do not say otherwise have a database of their own. */
export const isOwnStore = process.env.TEST_STORE !== 'postgres';

/** Not loaded otherwise: it registers with AVA, which is not there when the demo or a benchmark starts nodes. */
const usual = isOwnStore ? undefined : (await import('./test-with-postgres.ts')).sharedPostgres();

/** Options of `mfd init` for a new cluster on `server`. */
export const initStore = async (server: PostgresServer | undefined = usual?.()): Promise<string[]> =>
  server ? ['--store-url', (await server.createDatabase()).url, '--store-password-file', server.passwordFile] : [];

/** Options of `mfd join`: the token names the store, and the password never travels. */
export const joinStore = (server: PostgresServer | undefined = usual?.()): string[] =>
  server ? ['--store-password-file', server.passwordFile] : [];
