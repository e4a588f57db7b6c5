// PostgreSQL's part of the shared SQL.
import {type ChangeEntries, type Db, type Dialect, type Logger, storableText} from '../sql/db.ts';

/** Binds bytes as well. */
export interface PostgresDb extends Db {
  run(sql: string, values: readonly unknown[]): Promise<unknown[]>;
}

export interface Scope {
  /** The node whose rows the statements mean. */
  nodeId: string;
  /** This node, which has the claims. */
  claimant: string;
  /** Of this process, whatever node is in scope. */
  log?: LogState;
}

export const leaseSeconds = 30;

type LogState = Pick<Logger, 'numbers' | 'keepsSubjects'>;

export const newLogState = (): LogState => ({numbers: {last: 0}, keepsSubjects: () => true});

/** A pattern of LIKE for texts that contain `text`. */
export const containing = (text: string): string => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;

export const dialectOf = ({nodeId, claimant, log = newLogState()}: Scope): Dialect => ({
  rows: (table, columns) => `SELECT ${columns.join(', ')} FROM json_populate_recordset(NULL::${table}, ?::json)`,
  values: type => `SELECT json_array_elements_text(?::json)::${type}`,
  join: 'JOIN',
  isLateral: true,
  json: values => JSON.stringify(values, (_name, value) => (typeof value === 'string' ? storableText(value) : value)),
  own: {column: 'node_id, ', value: `${quoted(nodeId)}, `, condition: `node_id = ${quoted(nodeId)} AND `},
  recipients: 'column',
  words: 'column',
  containing: {sql: 'folded_subject LIKE ?', of: containing},
  logger: {
    name: claimant,
    condition: `logged_by = ${quoted(claimant)} AND `,
    numbers: log.numbers,
    keepsSubjects: () => log.keepsSubjects(),
    ofChanges: {areLeftOut: false, count: 0},
  },
  lease: {
    taking: `, claimed_by = ${quoted(claimant)}, lease_until = now() + interval '${leaseSeconds} s'`,
    isOwn: ` AND claimed_by = ${quoted(claimant)}`,
    locking: ' FOR UPDATE',
  },
});

/** For one transaction: several run at the same time. */
export const withEntries = (dialect: Dialect, ofChanges: ChangeEntries): Dialect => ({
  ...dialect,
  logger: {...dialect.logger, ofChanges},
});

/** A text of SQL. The names of nodes have neither quotes nor backslashes. */
const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

export interface Queryable {
  query(sql: string, values: unknown[]): Promise<{rows: unknown[]}>;
}

/** `client`: a connection, or a pool that takes one for each statement. */
export const dbOn = (client: Queryable, dialect: Dialect): PostgresDb => ({
  dialect,
  async run(sql, values) {
    const bound = values.map(value => (typeof value === 'string' ? storableText(value) : value));
    return (await client.query(numbered(sql), bound)).rows;
  },
});

/** Statements by their form with `?`. There are about a hundred; their values are not part of them. */
const numberedForms = new Map<string, string>();

const numbered = (sql: string): string => {
  const known = numberedForms.get(sql);
  if (known !== undefined) return known;
  let count = 0;
  const form = sql.replaceAll('?', () => {
    count += 1;
    return `$${count}`;
  });
  numberedForms.set(sql, form);
  return form;
};
