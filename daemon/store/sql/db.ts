// SQL that both makes of the store share. A make gives the connection, and the expressions in which its language differs.

export type Values = readonly (string | number | boolean | null)[];

/** A database or a transaction: store functions accept both. */
export interface Db {
  readonly dialect: Dialect;
  /** Runs one statement with a `?` for each value; resolves with the returned rows. */
  run(sql: string, values: Values): Promise<unknown[]>;
}

/** Expressions that differ. All ids of a statement are bound as one value: SQLite limits the number of values. */
export interface Dialect {
  /** A query for the rows in one bound value, made by `json`. Their columns have the types of the same columns of `table`. */
  rows(table: string, columns: readonly string[]): string;
  /** A query for the values in one bound value, made by `json`. */
  values(type: 'text' | 'bigint'): string;
  /** A join that reads its left side first. */
  join: string;
  /** Whether a query in FROM may name a table before it. */
  isLateral: boolean;
  json(values: readonly unknown[]): string;
  /** Rows of this node, in a store that has those of other nodes as well; empty texts in the store of one node. */
  own: {
    /** Name of the column in a list of columns, and its value in a list of values, each with a comma. */
    column: string;
    value: string;
    /** A condition, followed by AND. */
    condition: string;
  };
  /** Where the recipients are that a filter compares: rows of `held_recipient`, or `folded_recipients` of `held_mail`. */
  recipients: 'rows' | 'column';
  /** Where the words of an event are: in an index of their own, or a column of `mail_event`. */
  words: 'index' | 'column';
  /** A condition that a folded subject has a text in it, and the value that is bound for it. */
  containing: {sql: string; of(text: string): string};
  logger: Logger;
  /** The holder of a claim, in a store on which several nodes act; empty texts in the store of one node. */
  lease: {
    /** Assignments of a claim, after a comma. */
    taking: string;
    /** A condition that this node has the claim, after AND. */
    isOwn: string;
    /** Makes a query lock its rows until the transaction ends. */
    locking: string;
  };
}

/** The node that writes entries of the event log. */
export interface Logger {
  name: string;
  /** Of its entries, in a store that has those of other nodes as well; followed by AND. */
  condition: string;
  /** The number of its last entry; 0 before the first. Shared by all transactions. */
  numbers: {last: number};
  keepsSubjects(): boolean;
  /** Of the transaction under way. */
  ofChanges: ChangeEntries;
}

/** Entries about held mail, which belong to the change that they tell of. */
export interface ChangeEntries {
  /** Whether the change is made without them. */
  areLeftOut: boolean;
  count: number;
}

/** PostgreSQL's texts have no character 0, and no half of a surrogate pair; the subject of a mail may have both. */
export const storableText = (text: string): string => text.replaceAll(/[\0\p{Surrogate}]/gu, '\ufffd');

export const query = async <R>(db: Db, sql: string, values: Values = []): Promise<R[]> => (await db.run(sql, values)) as R[];

/** A statement that inserts the rows in one bound value; an `ON CONFLICT` may follow. */
export const insertOf = ({rows}: Dialect, table: string, columns: readonly string[]): string =>
  `INSERT INTO ${table} (${columns.join(', ')}) ${rows(table, columns)} WHERE true`;

/** The same for a table whose rows belong to a node. */
export const insertOwn = ({rows, own}: Dialect, table: string, columns: readonly string[]): string => {
  const names = columns.join(', ');
  return `INSERT INTO ${table} (${own.column}${names}) SELECT ${own.value}${names} FROM (${rows(table, columns)}) AS given WHERE true`;
};
