// Execution of SQL statements, in the dialect of SQLite. On the single connection of the writer they go directly to the driver, which keeps them prepared:
// knex takes as long for each statement as SQLite, and so does preparing one. Without it an eighth fewer mails are held a second.
import type {Knex} from 'knex';
import type {Db, Dialect, Values} from '../sql/db.ts';

/** Knex's handle of a database or a transaction, on which the shared statements run too. */
export type SqliteDb = Knex & Db;

const dialect = (): Dialect => ({
  rows: (_table, columns) => `SELECT ${columns.map(name => `value->>'$.${name}' AS ${name}`).join(', ')} FROM json_each(?)`,
  values: () => 'SELECT value FROM json_each(?)',
  join: 'CROSS JOIN',
  isLateral: false,
  json: values => JSON.stringify(values),
  own: {column: '', value: '', condition: ''},
  recipients: 'rows',
  words: 'index',
  containing: {sql: 'instr(folded_subject, ?)', of: text => text},
  logger: {name: '', condition: '', numbers: {last: 0}, keepsSubjects: () => true, ofChanges: {areLeftOut: false, count: 0}},
  lease: {taking: '', isOwn: '', locking: ''},
});

export const asDb = (db: Knex): SqliteDb =>
  Object.assign(db, {dialect: dialect(), run: async (sql: string, values: Values) => run(db, sql, values)});

interface SqliteStatement {
  all(values: Values, done: (error: Error | null, rows: unknown[]) => void): void;
  finalize(): void;
}

export interface SqliteConnection {
  exec(sql: string, done: (error: Error | null) => void): void;
  prepare(sql: string, done: (error: Error | null) => void): SqliteStatement;
}

interface Writer {
  connection: SqliteConnection;
  /** By their SQL. All of them are kept: this folder has less than a hundred, and values are not part of them. */
  statements: Map<string, Promise<SqliteStatement>>;
  isReleased: boolean;
}

const writers = new WeakMap<Knex, Writer>();

/** For a database whose pool has one connection; releaseWriter() comes before it is destroyed. */
export const setWriter = (db: Knex, connection: SqliteConnection): void =>
  void writers.set(db, {connection, statements: new Map(), isReleased: false});

const run = async (db: Knex, sql: string, values: Values): Promise<unknown[]> => {
  const writer = writers.get(db);
  if (!writer) return (await db.raw(sql, [...values])) as unknown[];
  try {
    const statement = await statementOf(writer, sql);
    return await new Promise((resolve, reject) => {
      statement.all(values, (error, rows) => (error ? reject(error) : resolve(rows)));
    });
  } catch (error) {
    // knex emits the same event for its own queries.
    db.emit('query-error', error, {sql});
    throw error;
  }
};

/** SQLite closes no connection that has prepared statements. What is queried from now on is an error. */
export const releaseWriter = async (db: Knex): Promise<void> => {
  const writer = writers.get(db);
  if (!writer || writer.isReleased) return;
  writer.isReleased = true;
  await Promise.all([...writer.statements.values()].map(finalize));
};

const statementOf = ({connection, statements, isReleased}: Writer, sql: string): Promise<SqliteStatement> => {
  if (isReleased) throw new Error('the database is closed');
  const known = statements.get(sql);
  if (known !== undefined) return known;
  const statement = prepare(connection, sql);
  statements.set(sql, statement);
  statement.catch(() => statements.delete(sql));
  return statement;
};

const prepare = (connection: SqliteConnection, sql: string): Promise<SqliteStatement> =>
  new Promise((resolve, reject) => {
    const statement = connection.prepare(sql, error => (error ? reject(error) : resolve(statement)));
  });

/** Those that wait for the statement have it first; one that could not be prepared needs no end. */
const finalize = async (statement: Promise<SqliteStatement>): Promise<void> =>
  statement.then(
    prepared => prepared.finalize(),
    () => {},
  );
