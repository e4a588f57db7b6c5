// What this node has changed and its peers are to hear: one row per change, numbered without a gap from `outbox_floor` on.
import type {Db} from './database.ts';
import {nextInSequence, readSequence, readState, writeState} from './local-state.ts';
import {query} from './query.ts';

export interface OutboxEntry {
  seq: number;
  event: unknown;
}

interface OutboxRow {
  seq: number;
  event: string;
}

/** Numbers events from 1. */
const outboxSequence = 'outbox';
const floorName = 'outbox_floor';

/** Leaves one event for every peer; returns its number. */
export const appendEvent = async (tx: Db, event: unknown): Promise<number> => {
  const seq = await nextInSequence(tx, outboxSequence);
  await tx<OutboxRow>('outbox').insert({seq, event: JSON.stringify(event)});
  return seq;
};

/** The number of the newest event there has been; 0 before the first. */
export const lastOutboxSeq = async (db: Db): Promise<number> => readSequence(db, outboxSequence);

/** Events up to this number are gone. */
export const outboxFloor = async (db: Db): Promise<number> => Number((await readState(db, floorName)) ?? 0);

const following = `
SELECT (SELECT value FROM local_state WHERE name = '${floorName}') AS floor, outbox.seq, outbox.event
FROM (SELECT 1) LEFT JOIN outbox ON outbox.seq > ? ORDER BY outbox.seq LIMIT ?`;

/**
 * Events after `after` in order, at most `limit`, and no more than `maxChars` unless the first alone is longer; and, of the same
 * moment, up to where events are gone.
 */
export const outboxAfter = async (
  db: Db,
  after: number,
  {limit, maxChars}: {limit: number; maxChars: number},
): Promise<{floor: number; entries: OutboxEntry[]}> => {
  const rows = await query<(OutboxRow | {seq: null}) & {floor: string | null}>(db, following, [after, Math.max(1, limit)]);
  const entries: OutboxEntry[] = [];
  let chars = 0;
  for (const row of rows) {
    if (row.seq === null || entries.length === limit) break;
    chars += row.event.length;
    if (entries.length > 0 && chars > maxChars) break;
    entries.push({seq: Number(row.seq), event: JSON.parse(row.event)});
  }
  return {floor: Number(rows[0]?.floor ?? 0), entries};
};

/** All there are. */
export const eventsIn = async (db: Db): Promise<OutboxEntry[]> =>
  (await db<OutboxRow>('outbox').orderBy('seq')).map(({seq, event}) => ({seq: Number(seq), event: JSON.parse(event)}));

/** Puts other events in the place of those that have their numbers. */
export const rewriteEvents = async (tx: Db, entries: OutboxEntry[]): Promise<void> => {
  for (const {seq, event} of entries)
    await tx<OutboxRow>('outbox')
      .where({seq})
      .update({event: JSON.stringify(event)});
};

/** Forgets events up to `seq`; returns how many there were. */
export const pruneOutbox = async (tx: Db, seq: number): Promise<number> => {
  if (seq <= (await outboxFloor(tx))) return 0;
  const gone = await tx('outbox').where('seq', '<=', seq).delete();
  await writeState(tx, floorName, String(seq));
  return gone;
};

/**
 * For a database that has gone back in time: what it still has gets numbers above `seq`, which peers have seen of this
 * node's former life. Nothing up to there can be asked for any more.
 */
export const renumberOutbox = async (tx: Db, seq: number): Promise<void> => {
  const last = await lastOutboxSeq(tx);
  const row = await tx<OutboxRow>('outbox').min({first: 'seq'}).first<{first: number | null}>();
  // Above the numbers of now as well: no row may get one that another has until its own turn comes.
  const floor = Math.max(seq, last);
  const delta = floor + 1 - Number(row?.first ?? last + 1);
  await tx('outbox').update({seq: tx.raw('seq + ?', [delta])});
  await writeState(tx, `sequence:${outboxSequence}`, String(last + delta));
  await writeState(tx, floorName, String(floor));
};

export const outboxDepth = async (db: Db): Promise<number> => {
  const row = await db('outbox').count({count: '*'}).first();
  return Number(row?.count ?? 0);
};
