// The make of the store that test nodes use. With TEST_STORE=postgres the tests of a room run with one PostgreSQL for all nodes of a
// cluster: one server for each test file, one database for each cluster.
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {parse} from 'yaml';
import type {PostgresServer} from './postgres-server.ts';

/** Whether nodes of tests that do not say otherwise have a database of their own. */
export const isOwnStore = process.env.TEST_STORE !== 'postgres';

/** Not loaded otherwise: it registers with AVA, which is not there when the demo or a benchmark starts nodes. */
const usual = isOwnStore ? async () => undefined : (await import('./test-with-postgres.ts')).lazyPostgres();

/** Options of `mfd init` for a new cluster on `given`. */
export const initStore = async (given?: PostgresServer): Promise<string[]> => {
  const server = given ?? (await usual());
  return server ? ['--store-url', (await server.createDatabase()).url, '--store-password-file', server.passwordFile] : [];
};

/** Options of `mfd join`: the token names the store, and the password never travels. */
export const joinStore = async (given?: PostgresServer): Promise<string[]> => {
  const server = given ?? (await usual());
  return server ? ['--store-password-file', server.passwordFile] : [];
};

/** The queue ids of all mails whose bytes are in the store of the node in this folder. */
export const storedMails = async (data: string): Promise<string[]> => {
  const {store} = parse(await readFile(join(data, 'mfd.yaml'), 'utf8')) as {store: {url: string}};
  const server = await usual();
  const sql = 'SELECT DISTINCT queue_id FROM held_body ORDER BY queue_id';
  const rows = await server?.query<{queue_id: string}>(sql, {database: new URL(store.url).pathname.slice(1)});
  return (rows ?? []).map(({queue_id}) => queue_id);
};
