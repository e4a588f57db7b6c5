// Bytes of held mail, in chunks: PostgreSQL and the driver have a whole value in memory several times.
import {Readable} from 'node:stream';
import type {BodyReads, BodyStore} from '../../services/common-store.ts';
import type {PostgresDb} from './dialect.ts';

const chunkBytes = 256 * 1024;

export const bodyReads = (db: PostgresDb): BodyReads => {
  const {condition} = db.dialect.own;
  const sql = `SELECT bytes FROM held_body WHERE ${condition}queue_id = ? AND part = ?`;

  async function* chunks(queueId: string): AsyncGenerator<Buffer> {
    for (let part = 0; ; part += 1) {
      const [row] = (await db.run(sql, [queueId, part])) as {bytes: Buffer}[];
      if (!row) return;
      yield row.bytes;
      // Only the last one is shorter.
      if (row.bytes.length < chunkBytes) return;
    }
  }

  return {open: queueId => Readable.from(chunks(queueId), {objectMode: false})};
};

export const bodyStore = (tx: PostgresDb): BodyStore => {
  const {column, value} = tx.dialect.own;
  const sql = `INSERT INTO held_body (${column}queue_id, part, bytes) VALUES (${value}?, ?, ?)`;
  return {
    async write(queueId, bytes) {
      let part = 0;
      for await (const chunk of inChunks(bytes)) {
        await tx.run(sql, [queueId, part, chunk]);
        part += 1;
      }
    },
  };
};

/** At least one, so that an empty mail can be told from a lost one. */
async function* inChunks(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  let count = 0;
  for await (const piece of bytes)
    for (let rest = piece; rest.length > 0; ) {
      const part = rest.subarray(0, chunkBytes - length);
      rest = rest.subarray(part.length);
      parts.push(part);
      length += part.length;
      if (length < chunkBytes) continue;
      yield Buffer.concat(parts);
      [parts, length, count] = [[], 0, count + 1];
    }
  if (length > 0 || count === 0) yield Buffer.concat(parts);
}

/** For mails that have ended. */
export const removeBodies = async (tx: PostgresDb, queueIds: readonly string[]): Promise<void> => {
  if (queueIds.length === 0) return;
  const {own, values, json} = tx.dialect;
  await tx.run(`DELETE FROM held_body WHERE ${own.condition}queue_id IN (${values('text')})`, [json(queueIds)]);
};
