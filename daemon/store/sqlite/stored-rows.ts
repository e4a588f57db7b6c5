// All rows of a database in the order in which they were stored, for a move to another store.
import type {Knex} from 'knex';
import type {StoredAuditEntry} from '../../services/audit/stored-entry.ts';
import type {StoredReceived, StoredSource} from '../../services/dmarc/received-store.ts';
import type {StoredMailEvent} from '../../services/events/mail-event.ts';
import {type EventRow, toEvent} from '../sql/event-stream.ts';
import {openForReading} from './database.ts';

export interface StoredRows {
  /** Queue ids of all mails after `after`, ascending: those that have ended, too. */
  queueIds(after: string, limit: number): Promise<string[]>;
  /** Entries of the audit log after the number `after`, oldest first. */
  audit(after: number, limit: number): Promise<Omit<StoredAuditEntry, 'key_name'>[]>;
  countAudit(): Promise<number>;
  /** Entries of the event log after the number `after`, oldest first. */
  events(after: number, limit: number): Promise<StoredMailEvent[]>;
  countEvents(): Promise<number>;
  /** DMARC reports of others with a digest after `after`, ascending. */
  received(after: string, limit: number): Promise<StoredReceived[]>;
  receivedSources(digest: string): Promise<StoredSource[]>;
  close(): Promise<void>;
}

/** Changes nothing. The database must be up to date. */
export const openStoredRows = (filename: string): StoredRows => {
  const db = openForReading(filename);
  return {
    queueIds: async (after, limit) =>
      db('held_mail').where('queue_id', '>', after).orderBy('queue_id').limit(limit).pluck('queue_id'),
    audit: async (after, limit) => db('audit').where('seq', '>', after).orderBy('seq').limit(limit),
    countAudit: async () => count(db, 'audit'),
    async events(after, limit) {
      const rows = await db<EventRow>('mail_event').where('number', '>', after).orderBy('number').limit(limit);
      return rows.map(({number, at, entry}) => toEvent({number, at, entry}));
    },
    countEvents: async () => count(db, 'mail_event'),
    async received(after, limit) {
      const rows = await db('dmarc_received').where('digest', '>', after).orderBy('digest').limit(limit);
      return rows.map(row => ({...row, is_verified: Boolean(row.is_verified)}));
    },
    receivedSources: async digest => db('dmarc_received_source').where({digest}),
    close: async () => db.destroy(),
  };
};

const count = async (db: Knex, table: 'audit' | 'mail_event'): Promise<number> => {
  const [row] = await db(table).count<{count: number}[]>({count: '*'});
  return row?.count ?? 0;
};
