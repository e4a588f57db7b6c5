// A real PostgreSQL with a cluster of its own, on loopback and on a Unix socket, private to its owner.
import {randomUUID} from 'node:crypto';
import {once} from 'node:events';
import {appendFile, chmod, open, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import pg from 'pg';
import {createAuthority, issueLeaf} from '../../daemon/cluster/certificates.ts';
import type {Owner} from './daemon.ts';
import {freePort} from './ports.ts';
import {createPostgresProcess, type PostgresProcess} from './postgres-process.ts';
import {giveToPostgres, spawnPostgres} from './postgres-programs.ts';
import {testFolder} from './test-folder.ts';

export interface PostgresOptions {
  /** Settings of postgresql.conf besides the usual ones. */
  settings?: Record<string, string | number>;
  /** Gives the server a certificate for 127.0.0.1 and localhost. Connections without TLS are accepted, too. */
  hasTls?: boolean;
  /** The folder of its data, which must be empty or missing; a temporary one by default. */
  dataFolder?: string;
  /** Makes it a standby of this server, with its data. */
  standbyOf?: PostgresServer;
}

interface PostgresDatabase {
  name: string;
  /** Without the password. */
  url: string;
  /** The same over the Unix socket. */
  socketUrl: string;
}

/** How to reach a server. */
export interface PostgresAddress {
  port: number;
  /** The folder with the Unix socket. */
  socketFolder: string;
  /** Contains the password and a line feed, mode 0600. */
  passwordFile: string;
}

/** What a server has, whoever started it. */
export interface PostgresDatabases extends PostgresAddress {
  host: string;
  /** The superuser. Its password has characters that URLs, SQL and shells treat specially. */
  user: string;
  password: string;
  /** An empty one, or a copy of another that nobody is connected to; with a random name by default. */
  createDatabase(name?: string, template?: string): Promise<PostgresDatabase>;
  /** A connection of the superuser, which the caller ends. */
  connect(database?: string): Promise<pg.Client>;
  /** Resolves with the rows; runs as the superuser, on a connection of its own. */
  query<Row extends pg.QueryResultRow>(sql: string, options?: {database?: string; values?: unknown[]}): Promise<Row[]>;
}

export interface PostgresServer extends PostgresDatabases, PostgresProcess {
  /** The authority of its certificate; undefined without TLS. */
  caFile: string | undefined;
  /** `attributes` are in SQL, such as `CREATEDB`. */
  createRole(name: string, password: string, attributes?: string): Promise<void>;
  log(): Promise<string>;
}

const host = '127.0.0.1';
const user = 'postgres';
const password = `it's 100%/@home:"$5"`;

export const startPostgres = async (owner: Owner, options: PostgresOptions = {}): Promise<PostgresServer> => {
  const secrets = await testFolder(owner);
  const passwordFile = join(secrets, 'password');
  await writeFile(passwordFile, `${password}\n`, {mode: 0o600});
  const folder = await testFolder(owner);
  // The tests connect to the socket in it as another user.
  await chmod(folder, 0o755);
  await giveToPostgres(folder);
  const [dataFolder, logFile] = [options.dataFolder ?? join(folder, 'data'), join(folder, 'log')];
  if (options.standbyOf) await copyCluster(folder, dataFolder, options.standbyOf);
  else await createCluster(folder, dataFolder);

  const port = await freePort();
  const caFile = options.hasTls ? await createCertificate(folder) : undefined;
  const tls =
    caFile === undefined ? {} : {ssl: 'on', ssl_cert_file: `${folder}/server.crt`, ssl_key_file: `${folder}/server.key`};
  const settings = {listen_addresses: host, port, unix_socket_directories: folder, ...usualSettings, ...tls, ...options.settings};
  await appendFile(join(dataFolder, 'postgresql.conf'), lines(settings));

  const server = createPostgresProcess({folder, dataFolder, logFile});
  owner.teardown(async () => {
    await server.thaw();
    await server.stop('immediate');
  });
  await server.start();

  const databases = databasesAt({port, socketFolder: folder, passwordFile});
  return {
    ...databases,
    caFile,
    async createRole(name, rolePassword, attributes = '') {
      const sql = `CREATE ROLE ${pg.escapeIdentifier(name)} LOGIN PASSWORD ${pg.escapeLiteral(rolePassword)} ${attributes}`;
      await databases.query(sql);
    },
    ...server,
    log: async () => readFile(logFile, 'utf8'),
  };
};

export const databasesAt = (address: PostgresAddress): PostgresDatabases => {
  const {port, socketFolder} = address;
  const connect: PostgresDatabases['connect'] = async (database = 'postgres') => {
    const client = new pg.Client({
      ...{host: socketFolder, port, user, password, database},
      ssl: false,
      connectionTimeoutMillis: 30_000,
    });
    // What is under way on it rejects when the server ends; without a listener the event would end the process.
    client.on('error', () => {});
    await client.connect();
    return client;
  };
  const query: PostgresDatabases['query'] = async (sql, {database, values = []} = {}) => {
    const client = await connect(database);
    try {
      return (await client.query(sql, values)).rows;
    } finally {
      await client.end();
    }
  };
  return {
    ...address,
    host,
    user,
    password,
    async createDatabase(name = `test_${randomUUID().replaceAll('-', '')}`, template = 'template0') {
      await query(`CREATE DATABASE ${pg.escapeIdentifier(name)} TEMPLATE ${pg.escapeIdentifier(template)}`);
      const path = encodeURIComponent(name);
      return {
        name,
        url: `postgres://${user}@${host}:${port}/${path}`,
        socketUrl: `postgres:///${path}?host=${socketFolder}&port=${port}&user=${user}`,
      };
    },
    connect,
    query,
  };
};

/** Small, and with everything that survives a kill in the cluster's own folder. It writes durably, as in production. */
const usualSettings = {
  shared_buffers: '16MB',
  max_connections: 100,
  fsync: 'on',
  logging_collector: 'off',
  dynamic_shared_memory_type: 'mmap',
};

const lines = (settings: Record<string, string | number>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = '${String(value).replaceAll("'", "''")}'\n`)
    .join('');

/** The data of another server, and the file that makes a standby of them. */
const copyCluster = async (folder: string, dataFolder: string, {port}: PostgresServer): Promise<void> => {
  const quoted = (text: string) => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
  const from = `host=${host} port=${port} user=${user} password=${quoted(password)}`;
  await runProgram(folder, 'pg_basebackup', [
    '--no-sync',
    '--checkpoint=fast',
    '-R',
    '-X',
    'stream',
    '-d',
    from,
    '-D',
    dataFolder,
  ]);
};

const createCluster = async (folder: string, dataFolder: string): Promise<void> => {
  const file = join(folder, 'first-password');
  await writeFile(file, `${password}\n`, {mode: 0o600});
  await giveToPostgres(file);
  const names = ['--username', user, '--pwfile', file, '--auth', 'scram-sha-256', '--locale', 'C.UTF-8', '--encoding', 'UTF8'];
  await runProgram(folder, 'initdb', ['--no-sync', ...names, '--pgdata', dataFolder]);
};

const runProgram = async (folder: string, program: string, args: string[]): Promise<void> => {
  const output = join(folder, `${program}.log`);
  const log = await open(output, 'w');
  try {
    const [code] = await once(spawnPostgres(program, args, {cwd: folder, log: log.fd}), 'exit');
    if (code !== 0) throw new Error(`${program}: exit ${code}: ${await readFile(output, 'utf8')}`);
  } finally {
    await log.close();
  }
};

/** Resolves with the file of its authority. */
const createCertificate = async (folder: string): Promise<string> => {
  const authority = await createAuthority(Date.now());
  const {key, cert} = await issueLeaf(authority, {commonName: 'postgres', hosts: [host, 'localhost']}, Date.now());
  const [keyFile, certFile, caFile] = ['server.key', 'server.crt', 'ca.crt'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(keyFile, key, {mode: 0o600});
  await giveToPostgres(keyFile);
  await writeFile(certFile, cert);
  await writeFile(caFile, authority.cert);
  return caFile;
};
