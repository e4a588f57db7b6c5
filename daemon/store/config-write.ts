// All that a change of the configuration writes beside the readable tables, in one statement: each one more is one more wait.
import type {ChainedEntry} from './audit.ts';
import type {StoredRecord} from './config-record.ts';
import type {Db} from './database.ts';
import type {OutboxEntry} from './outbox.ts';
import {type Procedure, preparedIn} from './prepared.ts';

export interface ConfigWrite {
  records: StoredRecord[];
  /** Replication events for every peer, with this node's next numbers. */
  events: OutboxEntry[];
  entries: ChainedEntry[];
  states: ReadonlyMap<string, string>;
}

const recordColumns = ['kind', 'id', 'fields', 'deleted', 'unique_key', 'parent_id', 'digest'] as const;
const auditColumns = ['at', 'key_id', 'action', 'target', 'remote_address', 'result', 'detail', 'hash'] as const;

const from = (names: readonly string[]) => names.map(name => `value->>'$.${name}'`).join(', ');

/** The view is there to be inserted into, once for a transaction; it has to be there before one begins. */
export const configWriting: Procedure = {
  schema: `
CREATE TEMP VIEW IF NOT EXISTS config_write AS SELECT '' AS records, '' AS events, '' AS entries, '' AS states;
CREATE TEMP TRIGGER IF NOT EXISTS config_writes INSTEAD OF INSERT ON config_write BEGIN
  INSERT INTO config_record (${recordColumns.join(', ')}) SELECT ${from(recordColumns)} FROM json_each(NEW.records) WHERE true
    ON CONFLICT (kind, id) DO UPDATE SET fields = excluded.fields, deleted = excluded.deleted,
      unique_key = excluded.unique_key, parent_id = excluded.parent_id, digest = excluded.digest;
  INSERT INTO outbox (seq, event) SELECT ${from(['seq', 'event'])} FROM json_each(NEW.events);
  INSERT INTO audit (${auditColumns.join(', ')}) SELECT ${from(auditColumns)} FROM json_each(NEW.entries);
  INSERT INTO local_state (name, value) SELECT ${from(['name', 'value'])} FROM json_each(NEW.states) WHERE true
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;
END;`,
  sql: 'INSERT INTO config_write (records, events, entries, states) VALUES (?, ?, ?, ?)',
};

/** Call it inside a transaction. */
export const writeConfig = async (tx: Db, {records, events, entries, states}: ConfigWrite): Promise<void> => {
  if (records.length + events.length + entries.length + states.size === 0) return;
  await preparedIn(tx).run(configWriting, [
    JSON.stringify(records.map(record => ({...record, fields: JSON.stringify(record.fields)}))),
    JSON.stringify(events.map(({seq, event}) => ({seq, event: JSON.stringify(event)}))),
    JSON.stringify(entries),
    JSON.stringify([...states].map(([name, value]) => ({name, value}))),
  ]);
};
