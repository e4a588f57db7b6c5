// The latest use of each API key.
import type {KeyUseReads, KeyUseStore} from '../../services/ports.ts';
import type {Db} from './database.ts';
import {query} from './query.ts';

const recording = `
INSERT INTO key_use (key_id, last_used_at) SELECT value->>'$.key_id', value->>'$.last_used_at' FROM json_each(?) WHERE true
ON CONFLICT (key_id) DO UPDATE SET last_used_at = excluded.last_used_at WHERE key_use.last_used_at < excluded.last_used_at`;

export const keyUseReads = (db: Db): KeyUseReads => ({
  list: async () => query(db, 'SELECT key_id, last_used_at FROM key_use'),
});

export const keyUseStore = (tx: Db): KeyUseStore => ({
  ...keyUseReads(tx),
  record: async uses => void (await query(tx, recording, [JSON.stringify(uses)])),
});
