// The make of the store that test nodes use. With TEST_STORE=postgres the tests of behaviour run with one PostgreSQL for all nodes
// of a cluster: a server for each owner, and a database for each cluster. The runner skips them all where there is no PostgreSQL;
// tests that give a server of their own are made with testWithPostgres.
import {readFile} from 'node:fs/promises';
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

interface StoreKeys {
  store: {url: string; password_file: string};
}

const storeOf = async (data: string): Promise<StoreKeys['store']> =>
  (parse(await readFile(join(data, 'mfd.yaml'), 'utf8')) as StoreKeys).store;

/** The name of the database that the node in this folder shares with others. */
export const databaseOf = async (data: string): Promise<string> => new URL((await storeOf(data)).url).pathname.slice(1);

/** The queue ids of all mails whose bytes are in the shared store of the node in this folder. */
export const storedMails = async (data: string): Promise<string[]> => {
  const store = await storeOf(data);
  const {hostname: host, port, username: user, pathname} = new URL(store.url);
  const password = (await readFile(store.password_file, 'utf8')).trimEnd();
  const client = new pg.Client({host, port: Number(port), user, password, database: pathname.slice(1)});
  await client.connect();
  const {rows} = await client.query<{queue_id: string}>('SELECT DISTINCT queue_id FROM held_body ORDER BY queue_id');
  await client.end();
  return rows.map(({queue_id}) => queue_id);
};
