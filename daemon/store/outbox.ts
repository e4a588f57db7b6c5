import type {Db} from './database.ts';

/** Queues one replication event for every peer; its number is this node's next. */
export const appendToOutbox = async (db: Db, event: unknown): Promise<void> => {
  await db('outbox').insert({event: JSON.stringify(event)});
};

/** Takes out all events; returns how many. The numbers go on where they were. */
export const emptyOutbox = async (db: Db): Promise<number> => db('outbox').delete();

export const outboxDepth = async (db: Db): Promise<number> => {
  const row = await db('outbox').count({count: '*'}).first();
  return Number(row?.count ?? 0);
};
