// All that a change of the configuration writes beside the readable tables, in one statement: each one more is one more wait.
import type {ChainedEntry} from './audit.ts';
import type {StoredRecord} from './config-record.ts';
import {configWriting} from './config-writing.ts';
import type {Db} from './database.ts';
import type {OutboxEntry} from './outbox.ts';
import {preparedIn} from './prepared.ts';

export interface ConfigWrite {
  records: StoredRecord[];
  /** Replication events for every peer, with this node's next numbers. */
  events: OutboxEntry[];
  entries: ChainedEntry[];
  states: ReadonlyMap<string, string>;
}

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
