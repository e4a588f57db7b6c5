// What recipients have asked administrators for: a row for each mail and recipient. It goes when the mail ends for him alone, or with the row of
// the mail, as that may be held again.
import {requestedEvent} from '../../services/events/held-event.ts';
import type {HoldStore} from '../../services/ports.ts';
import {isHeld, type ReleaseRequest} from '../../services/quarantine/stored-mail.ts';
import {type Db, insertOwn, query} from './db.ts';
import {appendToChange} from './event-log.ts';

/** `text`: its type. `node`: columns that name a node, where there are several. */
export const requestTable = (text: string, node: readonly string[]): string => {
  const key = [...node, 'queue_id'].join(', ');
  const columns = [...node, 'queue_id', 'address', 'requested_at'].map(name => `${name} ${text} NOT NULL`).join(', ');
  return `CREATE TABLE recipient_request (
    ${columns}, PRIMARY KEY (${key}, address), FOREIGN KEY (${key}) REFERENCES held_mail (${key}) ON DELETE CASCADE
  )`;
};

const columns = ['queue_id', 'address', 'requested_at'];

/** `find` reads the mail as it is in the transaction, locked. */
export const releaseRequests = (db: Db, find: HoldStore['find']): Pick<HoldStore, 'requests' | 'request' | 'restoreRequests'> => {
  const {json, own, values} = db.dialect;
  const adding = `${insertOwn(db.dialect, 'recipient_request', columns)} ON CONFLICT DO NOTHING RETURNING queue_id`;
  return {
    async requests(queueIds) {
      const sql = `SELECT ${columns.join(', ')} FROM recipient_request
        WHERE ${own.condition}queue_id IN (${values('text')}) ORDER BY requested_at, address`;
      return query<ReleaseRequest>(db, sql, [json(queueIds)]);
    },

    async request(request) {
      const mail = await find(request.queue_id);
      if (!mail || !isHeld(mail) || !mail.recipients.includes(request.address)) return false;
      if ((await query(db, adding, [json([request])])).length === 0) return false;
      await appendToChange(db, [requestedEvent(mail, request)]);
      return true;
    },

    restoreRequests: async requests => void (await query(db, adding, [json(requests)])),
  };
};

/** Forgets what these recipients have asked for. */
export const dropRequests = async (db: Db, queueId: string, addresses: readonly string[]): Promise<void> => {
  const {json, own, values} = db.dialect;
  const sql = `DELETE FROM recipient_request WHERE ${own.condition}address IN (${values('text')}) AND queue_id = ?`;
  await query(db, sql, [json(addresses), queueId]);
};
