// The make of the store that test nodes use. With TEST_STORE=postgres the tests of behaviour run with one PostgreSQL for all nodes
// of a cluster: the runner starts a server for all tests, and each cluster has a database of its own on it. The runner skips them
// all where there is no PostgreSQL; tests that give a server of their own are made with testWithPostgres.
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import knex from 'knex';
import pg from 'pg';
import {parse} from 'yaml';
import type {Owner} from './daemon.ts';
import {databasesAt, type PostgresAddress, type PostgresDatabases} from './postgres-server.ts';

/** Whether nodes of tests that do not say otherwise have a database of their own. */
export const isOwnStore = process.env.TEST_STORE !== 'postgres';

/** The server that the runner has started. */
const usual = isOwnStore ? undefined : databasesAt(JSON.parse(process.env.TEST_POSTGRES ?? '') as PostgresAddress);

/** A new database on the server of all tests; deleted with its owner, whose nodes have ended by then. */
const ownDatabase = async (owner: Owner, server: PostgresDatabases, template?: string) => {
  const database = await server.createDatabase(undefined, template);
  owner.teardown(async () => void (await server.query(`DROP DATABASE ${database.name} WITH (FORCE)`)));
  return database;
};

/** Options of `mfd init` for a new cluster on `given`. */
export const initStore = async (owner: Owner, given?: PostgresDatabases): Promise<string[]> => {
  const server = given ?? usual;
  if (!server) return [];
  const {url} = server === usual ? await ownDatabase(owner, server) : await server.createDatabase();
  return ['--store-url', url, '--store-password-file', server.passwordFile];
};

/** Options of `mfd join`: the token names the store, and the password never travels. */
export const joinStore = (given?: PostgresDatabases): string[] => {
  const server = given ?? usual;
  return server ? ['--store-password-file', server.passwordFile] : [];
};

/** The name of a new database with what the node in this folder has in its own, which is not running. */
export const copyStore = async (owner: Owner, data: string): Promise<{from: string; to: string} | undefined> => {
  if (!usual) return undefined;
  const from = await databaseOf(data);
  return {from, to: (await ownDatabase(owner, usual, from)).name};
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

/**
 * Runs statements in the store of the node in this folder, which is not running unless it shares the store; resolves with the rows of
 * the last one.
 */
export const runInStore = async (data: string, ...statements: string[]): Promise<Record<string, unknown>[]> => {
  if (await storeOf(data)) {
    let rows: Record<string, unknown>[] = [];
    for (const sql of statements) rows = (await queryStore<Record<string, unknown>>(data, sql)) ?? [];
    return rows;
  }
  const db = knex({client: 'sqlite3', connection: {filename: join(data, 'mfd.db')}, useNullAsDefault: true});
  try {
    let rows: Record<string, unknown>[] = [];
    for (const sql of statements) rows = (await db.raw(sql)) as Record<string, unknown>[];
    return rows;
  } finally {
    await db.destroy();
  }
};

/** The hash of the configuration in the store that the node in this folder shares with others; undefined for any other node. */
export const commonHash = async (data: string): Promise<string | undefined> => {
  const sql = "SELECT value FROM local_state WHERE name = 'config_sum'";
  const rows = await queryStore<{value: string}>(data, sql);
  return rows && `sha256:${(rows[0]?.value ?? '').padStart(64, '0')}`;
};
