// Requirements of a server, a role and a database, checked before a node uses them.
import pg from 'pg';
import {addressOf, awayText, beginSession, clientConfig, codeOf, type PostgresSettings} from './connection.ts';
import {hasTables, unknownMigrations} from './schema.ts';

/** One line for the operator: what is wrong and what to do. */
export class StoreRefusal extends Error {
  override name = 'StoreRefusal';
}

export interface Inspected {
  /** Whether the database has the tables of a cluster. */
  hasCluster: boolean;
  warnings: string[];
}

/**
 * Changes nothing. `cluster` is the fingerprint of the cluster's authority; undefined where any may be in the database. Throws a
 * StoreRefusal.
 */
export const inspectPostgres = async (settings: PostgresSettings, cluster: string | undefined): Promise<Inspected> => {
  const client = await connect(settings);
  try {
    const warnings = await inspectServer(client);
    await refusePooler(client, settings);
    if (!(await hasTables(client))) {
      await requireRights(client, settings);
      return {hasCluster: false, warnings};
    }
    await requireTableRights(client, settings);
    const unknown = await unknownMigrations(client);
    if (unknown.length > 0)
      throw new StoreRefusal(
        `the database ${settings.database} is that of a newer version of mfd (it has ${unknown[0]}): start that version`,
      );
    await requireCluster(client, settings, cluster);
    return {hasCluster: true, warnings};
  } finally {
    await client.end().catch(() => {});
  }
};

const connect = async (settings: PostgresSettings): Promise<pg.Client> => {
  const client = new pg.Client(clientConfig(settings));
  client.on('error', () => {});
  try {
    await client.connect();
    await requireVersion(client);
    await beginSession(client);
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw error instanceof StoreRefusal ? error : new StoreRefusal(connectionText(settings, error), {cause: error});
  }
};

/** Nothing answers there, or the server starts or stops (class 57P of its codes). */
const isAway = (error: unknown): boolean =>
  ['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT'].includes(
    codeOf(error),
  ) ||
  /^57P/.test(codeOf(error)) ||
  (error instanceof Error && /^(?:timeout expired|Connection terminated)/.test(error.message));

/** The words of the server have no password in them; those of the driver name addresses only. */
const connectionText = (settings: PostgresSettings, error: unknown): string => {
  const where = addressOf(settings);
  const {user, database, hasTls} = settings;
  const reason = error instanceof Error ? error.message : String(error);
  switch (codeOf(error)) {
    case '28P01':
    case '28000':
      return `PostgreSQL at ${where} does not let ${user} in (${reason}); check store.password_file and pg_hba.conf`;
    case '3D000':
      return `PostgreSQL at ${where} has no database ${database}; create it: createdb -O ${user} ${database}`;
    default:
  }
  if (/password must be a string|password authentication/.test(reason))
    return `PostgreSQL at ${where} wants a password for ${user}; name a file with it in store.password_file`;
  const advice = hasTls ? '; check store.url, and store.ca_file for its certificate' : '; is it running, and is store.url right?';
  if (isAway(error)) return `${awayText(where, error)}${advice}`;
  return `PostgreSQL at ${where} cannot be used: ${reason || codeOf(error)}${advice}`;
};

const requireVersion = async (client: pg.Client): Promise<void> => {
  const version = Number(await settingOf(client, 'server_version_num'));
  if (version < 130_000)
    throw new StoreRefusal(`PostgreSQL ${await settingOf(client, 'server_version')} is too old; version 13 or later is needed`);
};

const settingOf = async (client: pg.Client, name: string): Promise<string> => {
  const {rows} = await client.query<{value: string}>('SELECT current_setting($1) AS value', [name]);
  return rows[0]?.value ?? '';
};

const inspectServer = async (client: pg.Client): Promise<string[]> => {
  if ((await settingOf(client, 'fsync')) !== 'on')
    throw new StoreRefusal('PostgreSQL runs with fsync = off: acknowledged mail would be lost in a power cut; set fsync = on');
  const encoding = await settingOf(client, 'server_encoding');
  if (encoding !== 'UTF8')
    throw new StoreRefusal(`the database has the encoding ${encoding}; create it with -E UTF8 -T template0`);
  if ((await settingOf(client, 'full_page_writes')) === 'on') return [];
  return [
    'PostgreSQL runs with full_page_writes = off: a power cut can damage its files, unless its file system prevents torn pages',
  ];
};

/**
 * A second session that gets the server process of the first, which is still open: a pooler lends it for each transaction. Then
 * settings, LISTEN and locks of a session are those of others.
 */
const refusePooler = async (client: pg.Client, settings: PostgresSettings): Promise<void> => {
  const processOf = async (session: pg.Client): Promise<number | undefined> =>
    (await session.query<{pid: number}>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;
  const second = new pg.Client(clientConfig(settings));
  second.on('error', () => {});
  try {
    await second.connect();
    const first = await processOf(client);
    if (first === (await processOf(second)))
      throw new StoreRefusal(
        'a pooler such as PgBouncer lends its connections for single transactions; use pool_mode = session, or PostgreSQL directly: mfd has its own pool (store.pool)',
      );
  } finally {
    await second.end().catch(() => {});
  }
};

/** The rights that making the tables takes. */
const requireRights = async (client: pg.Client, {user, database}: PostgresSettings): Promise<void> => {
  const {rows} = await client.query<{may_create: boolean | null; may_extend: boolean}>(
    `SELECT has_schema_privilege(current_schema(), 'CREATE') AS may_create,
       has_database_privilege(current_database(), 'CREATE') OR EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') AS may_extend`,
  );
  if (!rows[0]?.may_create)
    throw new StoreRefusal(
      `the role ${user} may not create tables; make it the owner: ALTER DATABASE ${database} OWNER TO ${user}`,
    );
  if (!rows[0].may_extend)
    throw new StoreRefusal(
      `the role ${user} may not create the extension pg_trgm; as a superuser: CREATE EXTENSION pg_trgm in ${database}`,
    );
  const {rows: available} = await client.query("SELECT FROM pg_available_extensions WHERE name = 'pg_trgm'");
  if (available.length === 0)
    throw new StoreRefusal('PostgreSQL does not have the extension pg_trgm; install its contrib modules (postgresql-contrib)');
};

const requireTableRights = async (client: pg.Client, {user, database}: PostgresSettings): Promise<void> => {
  const {rows} = await client.query<{name: string}>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
       AND NOT (SELECT bool_and(has_table_privilege(oid, needed)) FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed)
     LIMIT 1`,
  );
  if (rows[0])
    throw new StoreRefusal(
      `the role ${user} may not read and write the table ${rows[0].name} of ${database}; connect as the owner of the tables`,
    );
};

const requireCluster = async (client: pg.Client, {database}: PostgresSettings, cluster: string | undefined): Promise<void> => {
  if (cluster === undefined) return;
  const {rows} = await client.query<{value: string}>("SELECT value FROM local_state WHERE name = 'cluster'");
  if (rows[0]?.value !== cluster)
    throw new StoreRefusal(`the database ${database} belongs to another cluster; check store.url, or restore tls/ of this node`);
};
