// Statements that connections keep prepared: knex takes longer to make one than SQLite takes to answer it.
import type {Knex} from 'knex';

/** One statement, and what has to be made on a connection before it can be prepared there. */
export interface Procedure {
  schema?: string;
  sql: string;
}

type Values = readonly (string | number | null)[];

/** Of a database outside of any transaction, where each statement commits by itself; or of one transaction. */
export interface Prepared {
  all<R>(procedure: Procedure, values: Values): Promise<R[]>;
  run(procedure: Procedure, values: Values): Promise<void>;
}

interface Statement {
  all(values: Values, done: (error: Error | null, rows: unknown[]) => void): void;
  run(values: Values, done: (error: Error | null) => void): void;
  finalize(done: () => void): void;
}

interface Connection {
  exec(sql: string, done: (error: Error | null) => void): void;
  prepare(sql: string, done: (error: Error | null) => void): Statement;
}

interface Client {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
  destroyRawConnection(connection: Connection): Promise<void>;
  emit(event: 'query-error', error: unknown): void;
}

type Statements = Map<string, Promise<Statement>>;

/** For each connection. */
const maxStatements = 64;

/** They live as long as the connection, whichever transaction is on it. */
const statements = new WeakMap<Connection, Statements>();

/** The database or transaction hears of what statements reject with as `query-error`, as of its own queries. */
export const preparedIn = (db: Knex): Prepared => {
  const client = db.client as Client;
  const transaction = db.isTransaction ? (db as Knex.Transaction) : undefined;

  const using = async <T>(procedure: Procedure, use: (statement: Statement) => Promise<T>): Promise<T> => {
    const connection = await client.acquireConnection();
    try {
      const statement = await statementOf(connection, procedure);
      // On the connection of a transaction that is over it would be somebody else's, or nobody's.
      if (transaction?.isCompleted()) throw new Error('a statement comes after the end of its transaction');
      return await use(statement);
    } catch (error) {
      client.emit('query-error', error);
      throw error;
    } finally {
      await client.releaseConnection(connection);
    }
  };

  return {
    all: async <R>(procedure: Procedure, values: Values) =>
      using<R[]>(
        procedure,
        async statement =>
          new Promise((resolve, reject) => {
            statement.all(values, (error, rows) => (error ? reject(error) : resolve(rows as R[])));
          }),
      ),
    run: async (procedure, values) =>
      using(
        procedure,
        async statement =>
          new Promise<void>((resolve, reject) => {
            statement.run(values, error => (error ? reject(error) : resolve()));
          }),
      ),
  };
};

/** A connection with statements that were not given back refuses to be closed. */
export const giveBackStatements = (db: Knex): void => {
  const client = db.client as Client;
  const destroy = client.destroyRawConnection.bind(client);
  client.destroyRawConnection = async connection => {
    const kept = statements.get(connection);
    statements.delete(connection);
    for (const statement of await Promise.allSettled(kept?.values() ?? []))
      if (statement.status === 'fulfilled') await new Promise<void>(resolve => statement.value.finalize(resolve));
    return destroy(connection);
  };
};

const statementOf = async (connection: Connection, procedure: Procedure): Promise<Statement> => {
  const {sql} = procedure;
  const kept: Statements = statements.get(connection) ?? new Map();
  statements.set(connection, kept);
  const statement = kept.get(sql) ?? prepare(connection, procedure);
  // The one used last is at the end.
  kept.delete(sql);
  kept.set(sql, statement);
  statement.catch(() => kept.delete(sql));
  const [oldest] = kept;
  if (kept.size > maxStatements && oldest) {
    kept.delete(oldest[0]);
    (await oldest[1]).finalize(() => {});
  }
  return statement;
};

const prepare = async (connection: Connection, {schema, sql}: Procedure): Promise<Statement> => {
  if (schema !== undefined)
    await new Promise<void>((resolve, reject) => {
      connection.exec(schema, error => (error ? reject(error) : resolve()));
    });
  return new Promise((resolve, reject) => {
    const statement = connection.prepare(sql, error => (error ? reject(error) : resolve(statement)));
  });
};
