// Inserts of the rows of held mail without a program around them: one transaction for each mail, over several connections.
import type pg from 'pg';
import type {Owner} from '../../helpers/daemon.ts';
import type {PostgresServer} from '../../helpers/postgres-server.ts';

interface Inserts {
  count: number;
  /** Number of connections. */
  clients: number;
}

export interface BareInserts {
  /** Mails per second. */
  rate(order: Inserts): Promise<number>;
}

/** Copies the first mail of a database in which no node works any more. */
export const startBareInserts = async (owner: Owner, server: PostgresServer, database: string): Promise<BareInserts> => {
  const clients: pg.Client[] = [];
  owner.teardown(async () => {
    for (const client of clients) await client.end();
  });
  const tables = ['held_body', 'held_mail'];
  const statements = await Promise.all(tables.map(async table => insertOf(server, database, table)));
  let sent = 0;

  const insertOne = async (client: pg.Client, id: string): Promise<void> => {
    await client.query('BEGIN');
    for (const {name, text, valuesOf} of statements) await client.query({name, text, values: valuesOf(id)});
    await client.query('UPDATE held_count SET count = count + 1');
    await client.query('COMMIT');
  };

  return {
    async rate({count, clients: wanted}) {
      while (clients.length < wanted) clients.push(await server.connect(database));
      const end = sent + count;
      const startedAt = performance.now();
      const insertAll = async (client: pg.Client): Promise<void> => {
        while (sent < end) {
          sent += 1;
          await insertOne(client, `bare${sent}`);
        }
      };
      await Promise.all(clients.map(insertAll));
      return (count * 1000) / (performance.now() - startedAt);
    },
  };
};

/** Inserts a copy of the table's first row, with another queue id. */
const insertOf = async (server: PostgresServer, database: string, table: string) => {
  const [row = {}] = await server.query<Record<string, unknown>>(`SELECT * FROM ${table} LIMIT 1`, {database});
  const columns = Object.keys(row);
  const places = columns.map((_, n) => `$${n + 1}`);
  return {
    name: table,
    text: `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places.join(', ')})`,
    valuesOf: (id: string) => columns.map(column => (column === 'queue_id' ? id : row[column])),
  };
};
