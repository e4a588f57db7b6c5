// Connections to PostgreSQL, and its errors in words of the product. Only this folder names the driver.

import pg from 'pg';
import {Fault} from '../../../shared/fault.ts';
import {hasOwn} from '../../../shared/has-own.ts';
import {connectionReason} from '../../../shared/system-error.ts';
import {databaseAway} from '../../services/common-store.ts';

export interface PostgresSettings {
  /** A host name, an address, or the folder of a unix socket. */
  host: string;
  port: number;
  database: string;
  user: string;
  password?: string | undefined;
  /** Whether the connection is encrypted; then the server's certificate is verified. */
  hasTls: boolean;
  /** Authority that signed the server's certificate (PEM), instead of those of the system. */
  ca?: string | undefined;
  /** The number of connections, besides those that follow changes. */
  pool: number;
}

/** Without user and database, for people. */
export const addressOf = ({host, port}: Pick<PostgresSettings, 'host' | 'port'>): string =>
  host.startsWith('/') ? `${host} (port ${port})` : `${host}:${port}`;

/** How long a connection may take to open, and a caller may wait for a free one. */
export const connectMs = 5000;

/**
 * Every connection says it itself, as the database or the role may have another setting: a COMMIT returns once the change is on
 * stable storage, on the synchronous standby as well if there is one. `query_timeout` is for a server that is silent; the
 * server ends slow statements and waits for locks earlier.
 */
const sessionSettings = `SET synchronous_commit = on; SET statement_timeout = '15s'; SET lock_timeout = '5s';
SET idle_in_transaction_session_timeout = '30s'; SET client_min_messages = warning; SET timezone = 'UTC'`;
const answerMs = 20_000;

/** int8 and numeric are counts and sums of sizes, far below 2^53. */
const numeric: readonly number[] = [pg.types.builtins.INT8, pg.types.builtins.NUMERIC];
const types = {
  getTypeParser: ((oid: number, format: 'text' | 'binary') =>
    numeric.includes(oid) && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

export const clientConfig = ({host, port, database, user, password, hasTls, ca}: PostgresSettings): pg.ClientConfig => ({
  host,
  port,
  database,
  user,
  // Never from PGPASSWORD or a .pgpass file: the configuration says everything.
  password: password ?? '',
  ssl: hasTls && {rejectUnauthorized: true, ...(ca !== undefined && {ca})},
  application_name: 'mfd',
  connectionTimeoutMillis: connectMs,
  query_timeout: answerMs,
  keepAlive: true,
  types,
});

/** Prepares a new connection. Rejects for a standby, which does not take changes: the address of the store names the primary. */
export const beginSession = async (client: pg.ClientBase): Promise<void> => {
  await client.query(sessionSettings);
  const {rows} = await client.query<{is_standby: boolean}>('SELECT pg_is_in_recovery() AS is_standby');
  if (rows[0]?.is_standby) throw new ReadOnlyServer('the server is a standby and takes no changes');
};

class ReadOnlyServer extends Error {
  override name = 'ReadOnlyServer';
}

/** A connection of its own, for a caller that ends it. */
export const openClient = async (settings: PostgresSettings): Promise<pg.Client> => {
  const client = new pg.Client(clientConfig(settings));
  // The query that is under way reports it; without a listener it would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    await beginSession(client);
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
};

export const codeOf = (error: unknown): string =>
  error instanceof Error && hasOwn(error, 'code') && typeof error.code === 'string' ? error.code : '';

/** Two transactions waited for each other: nothing was done, and a repetition helps. */
export const isDeadlock = (error: unknown): boolean => ['40P01', '40001'].includes(codeOf(error));

/** Errors of a statement or a row: a fault of this program, whatever state the server is in. */
const isBug = (error: unknown): boolean => error instanceof pg.DatabaseError && /^(?:2[23]|42)/.test(codeOf(error));

/** Whether a change of held mail may succeed without its entries in the event log: the disk is full, or data is corrupt. */
export const mayBeOfLog = (error: unknown): boolean =>
  /^(?:53100|XX00[12])$/.test(codeOf(error instanceof Fault ? error.cause : error));

/** The server does not do its work at present: it is away, full, a standby, or too slow. */
export const asFault = (error: unknown): unknown => {
  if (error instanceof Fault || isBug(error) || !isOfServer(error)) return error;
  const isFull = codeOf(error) === '53100';
  const detail = isFull ? 'the disk of the cluster’s database is full; nothing was done, try again later' : databaseAway;
  return new Fault('unavailable', detail, {cause: error, retryAfterSeconds: isFull ? 60 : 2});
};

/** For operators; callers get `databaseAway`, as strangers must not learn the address. */
export const awayText = (address: string, error: unknown): string =>
  `PostgreSQL at ${address} does not answer: ${awayReason(error)}`;

/** The words of the driver or the server, without values of rows. */
export const awayReason = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  // The words of a Fault are for callers.
  if (error instanceof Fault && error.cause !== undefined) return awayReason(error.cause);
  return postgresErrorText(error) ?? connectionReason(error);
};

/** Errors of the driver without a code of their own. */
const driverTexts =
  /^(?:Connection terminated|timeout exceeded|Query read timeout|Client has encountered|Client was closed|The server does not support SSL)/;

const isOfServer = (error: unknown): boolean =>
  error instanceof pg.DatabaseError ||
  error instanceof ReadOnlyServer ||
  (error instanceof Error && (/^E[A-Z_]+$/.test(codeOf(error)) || driverTexts.test(error.message)));

/**
 * An error of PostgreSQL without the values of its rows, which may be subjects of mail and private keys; undefined for any other
 * error. Words about the state of the server have no values.
 */
export const postgresErrorText = (error: Error): string | undefined => {
  if (!(error instanceof pg.DatabaseError)) return undefined;
  const {code = '', table, column, constraint, routine, message} = error;
  if (/^(?:08|28|3D|53|57)/.test(code)) return `PostgreSQL ${code}: ${message}`;
  const place = [table, column, constraint].filter(name => name !== undefined).join('.');
  return `PostgreSQL ${code} in ${routine ?? 'a statement'}${place && ` (${place})`}`;
};
