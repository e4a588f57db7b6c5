// The make of the store that test nodes use. With TEST_STORE=postgres the tests of behaviour run with one PostgreSQL for all nodes
// of a cluster: a server for each owner, and a database for each cluster. The runner skips them all where there is no PostgreSQL;
// tests that give a server of their own are made with testWithPostgres.
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import pg from 'pg';
import {parse} from 'yaml';
import type {Owner} from './daemon.ts';
import {type PostgresServer, startPostgres} from './postgres-server.ts';

/** Whether nodes of tests that do not say otherwise have a database of their own. */
export const isOwnStore = process.env.TEST_STORE !== 'postgres';

const servers = new WeakMap<Owner, Promise<PostgresServer>>();

const usual = async (owner: Owner): Promise<PostgresServer | undefined> => {
  if (isOwnStore) return undefined;
  const server = servers.get(owner) ?? startPostgres(owner);
  servers.set(owner, server);
  return server;
};

/** Options of `mfd init` for a new cluster on `given`. */
export const initStore = async (owner: Owner, given?: PostgresServer): Promise<string[]> => {
  const server = given ?? (await usual(owner));
  return server ? ['--store-url', (await server.createDatabase()).url, '--store-password-file', server.passwordFile] : [];
};

/** Options of `mfd join`: the token names the store, and the password never travels. */
export const joinStore = async (owner: Owner, given?: PostgresServer): Promise<string[]> => {
  const server = given ?? (await usual(owner));
  return server ? ['--store-password-file', server.passwordFile] : [];
};

interface SharedStoreKeys {
  url: string;
  password_file: string;
}

/** Undefined for a node with a database of its own. */
const storeOf = async (data: string): Promise<SharedStoreKeys | undefined> =>
  (parse(await readFile(join(data, 'mfd.yaml'), 'utf8')) as {store?: SharedStoreKeys}).store;

const databaseIn = ({url}: SharedStoreKeys): string => new URL(url).pathname.slice(1);

/** The name of the database that the node in this folder shares with others. */
export const databaseOf = async (data: string): Promise<string> => {
  const store = await storeOf(data);
  if (!store) throw new Error(`${data} shares no database`);
  return databaseIn(store);
};

/** Undefined for a node with a database of its own. */
const queryStore = async <Row extends pg.QueryResultRow>(data: string, sql: string): Promise<Row[] | undefined> => {
  const store = await storeOf(data);
  if (!store) return undefined;
  const {hostname: host, port, username: user} = new URL(store.url);
  const password = (await readFile(store.password_file, 'utf8')).trimEnd();
  const client = new pg.Client({host, port: Number(port), user, password, database: databaseIn(store)});
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
};

/** The queue ids of all mails whose bytes are kept in the spool of the node in this folder, or in the store that it shares. */
export const keptMails = async (data: string): Promise<string[]> => {
  const sql = 'SELECT DISTINCT queue_id FROM held_body ORDER BY queue_id';
  const rows = await queryStore<{queue_id: string}>(data, sql);
  return rows ? rows.map(({queue_id}) => queue_id) : readdir(join(data, 'spool', 'held'));
};

/** The hash of the configuration in the store that the node in this folder shares with others; undefined for any other node. */
export const sharedHash = async (data: string): Promise<string | undefined> => {
  const sql = "SELECT value FROM local_state WHERE name = 'config_sum'";
  const rows = await queryStore<{value: string}>(data, sql);
  return rows && `sha256:${(rows[0]?.value ?? '').padStart(64, '0')}`;
};
