// Statements that are made once and run often: knex takes longer to make one than SQLite takes to run it.
import type {Knex} from 'knex';

/** One statement, which commits by itself, and what has to be made on a connection before it can be prepared there. */
export interface Procedure {
  schema: string;
  call: string;
}

export interface Prepared {
  /** Runs it on the writer's connection as soon as that is free. */
  run(procedure: Procedure, values: readonly (string | number | null)[]): Promise<void>;
  /** What is still prepared would keep its connection open. */
  close(): Promise<void>;
}

interface Statement {
  run(values: readonly unknown[], done: (error: Error | null) => void): void;
  finalize(done: () => void): void;
}

interface Connection {
  exec(sql: string, done: (error: Error | null) => void): void;
  prepare(sql: string, done: (error: Error | null) => void): Statement;
}

interface Pool {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
}

export const createPrepared = (db: Knex): Prepared => {
  const pool = db.client as Pool;
  const statements = new Map<Connection, Map<Procedure, Statement>>();

  const statementFor = async (connection: Connection, procedure: Procedure): Promise<Statement> => {
    const ofConnection = statements.get(connection) ?? new Map<Procedure, Statement>();
    statements.set(connection, ofConnection);
    const found = ofConnection.get(procedure);
    if (found) return found;

    await new Promise<void>((resolve, reject) => {
      connection.exec(procedure.schema, error => (error ? reject(error) : resolve()));
    });
    const statement = await new Promise<Statement>((resolve, reject) => {
      const made = connection.prepare(procedure.call, error => (error ? reject(error) : resolve(made)));
    });
    ofConnection.set(procedure, statement);
    return statement;
  };

  return {
    async run(procedure, values) {
      const connection = await pool.acquireConnection();
      try {
        const statement = await statementFor(connection, procedure);
        await new Promise<void>((resolve, reject) => {
          statement.run(values, error => (error ? reject(error) : resolve()));
        });
      } finally {
        await pool.releaseConnection(connection);
      }
    },
    async close() {
      const all = [...statements.values()].flatMap(ofConnection => [...ofConnection.values()]);
      statements.clear();
      await Promise.all(all.map(statement => new Promise<void>(resolve => statement.finalize(resolve))));
    },
  };
};
