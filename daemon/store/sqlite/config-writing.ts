// The statement of config-write.ts, apart from it: a database makes it ready when it is opened.
import type {Procedure} from './prepared.ts';

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
