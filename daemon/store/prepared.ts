// Statements that a connection keeps prepared: for what is asked again and again, parsing it costs more than answering it.
import type {Knex} from 'knex';

interface Statement {
  all(bindings: readonly unknown[], done: (error: Error | null, rows: unknown[]) => void): void;
  finalize(done: () => void): void;
}

interface Connection {
  prepare(sql: string, done: (error: Error | null) => void): Statement;
}

interface Client {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
  destroyRawConnection(connection: Connection): Promise<void>;
}

/** For each connection; the one used last is at the end. */
const maxStatements = 64;
const statements = new WeakMap<Connection, Map<string, Promise<Statement>>>();

/** The rows of a query; `db` is no transaction. */
export const readPrepared = async <R>(
  db: Knex,
  {sql, bindings}: {sql: string; bindings: readonly (string | number)[]},
): Promise<R[]> => {
  const client = db.client as Client;
  const connection = await client.acquireConnection();
  try {
    const statement = await statementOf(connection, sql);
    return await new Promise<R[]>((resolve, reject) =>
      statement.all(bindings, (error, rows) => (error ? reject(error) : resolve(rows as R[]))),
    );
  } finally {
    await client.releaseConnection(connection);
  }
};

const statementOf = async (connection: Connection, sql: string): Promise<Statement> => {
  const kept = statements.get(connection) ?? new Map<string, Promise<Statement>>();
  statements.set(connection, kept);
  const statement = kept.get(sql) ?? prepare(connection, sql);
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

const prepare = async (connection: Connection, sql: string): Promise<Statement> =>
  new Promise((resolve, reject) => {
    const statement = connection.prepare(sql, error => (error ? reject(error) : resolve(statement)));
  });

/** A connection with statements that were not given back refuses to be closed. */
export const finalizeOnClose = (db: Knex): Knex => {
  const client = db.client as Client;
  const destroy = client.destroyRawConnection.bind(client);
  client.destroyRawConnection = async connection => {
    const kept = statements.get(connection);
    statements.delete(connection);
    for (const statement of await Promise.allSettled(kept?.values() ?? []))
      if (statement.status === 'fulfilled') await new Promise<void>(resolve => statement.value.finalize(resolve));
    return destroy(connection);
  };
  return db;
};
