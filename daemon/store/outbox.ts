import type {Db} from './database.ts';

/** Queues one replication event for every peer; its number is this node's next. */
export const appendToOutbox = async (db: Db, event: unknown): Promise<void> => {
  await db('outbox').insert({event: JSON.stringify(event)});
};

export const outboxDepth = async (db: Db): Promise<number> => {
  const row = await db('outbox').count({count: '*'}).first();
  return Number(row?.count ?? 0);
};
