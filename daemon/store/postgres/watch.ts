// Watch for changes by other nodes, on a connection of its own. A notification is a hint: the number in the table is the truth.
import {setTimeout as delay} from 'node:timers/promises';
import type pg from 'pg';
import type {ConfigPosition, StoreListeners} from '../../services/common-store.ts';
import {asFault, openClient, type PostgresSettings} from './connection.ts';

export const channel = 'mfd_change';

const everyMs = 1000;
/** After a failure; the database is to be found again soon. */
const retryMs = 500;
/** A server that is silent for so long is away. */
const answerMs = 3000;

const positionSql = `
SELECT pg_is_in_recovery() AS is_standby, coalesce(max(value) FILTER (WHERE name = 'sequence:outbox'), '0') AS seq,
  coalesce(max(value) FILTER (WHERE name = 'config_sum'), '') AS sum,
  coalesce(max(value) FILTER (WHERE name = 'config_changed_at'), '0') AS changed_at
FROM local_state WHERE name IN ('sequence:outbox', 'config_sum', 'config_changed_at')`;

interface PositionRow {
  is_standby: boolean;
  seq: string;
  sum: string;
  changed_at: string;
}

export const startWatch = (settings: PostgresSettings, {onPosition, onLost}: StoreListeners): {stop(): Promise<void>} => {
  const stopping = new AbortController();
  const {signal} = stopping;

  const follow = async (client: pg.Client): Promise<void> => {
    const bell = createBell(client, signal);
    await client.query(`LISTEN ${channel}`);
    for (let isNew = true; !signal.aborted; isNew = false) {
      bell.reset();
      const askedAtMs = performance.now();
      const position = await readPosition(client);
      await onPosition(position, isNew, performance.now() - askedAtMs);
      await bell.rung(everyMs);
    }
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      let client: pg.Client | undefined;
      try {
        client = await openClient(settings);
        await follow(client);
      } catch (error) {
        if (!signal.aborted) onLost(asFault(error) as Error);
      } finally {
        await client?.end().catch(() => {});
      }
      await delay(retryMs, undefined, {signal, ref: false}).catch(() => {});
    }
  };

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
};

const readPosition = async (client: pg.Client): Promise<ConfigPosition> => {
  const late = delay(answerMs, undefined, {ref: false}).then(() => Promise.reject(new Error('no answer in time')));
  const {rows} = await Promise.race([client.query<PositionRow>(positionSql), late]);
  const row = rows[0];
  if (!row || row.is_standby) throw new Error('the database has become a standby');
  return {
    seq: Number(row.seq),
    config_hash: `sha256:${row.sum.padStart(64, '0')}`,
    changed_at_ms: Number(row.changed_at),
  };
};

/** Rings at a notification, at the end of the connection, and when the watch stops. */
const createBell = (client: pg.Client, signal: AbortSignal) => {
  let isRung = false;
  let wake = () => {};
  const ring = () => {
    isRung = true;
    wake();
  };
  client.on('notification', ring).on('end', ring);
  signal.addEventListener('abort', ring);
  return {
    reset() {
      isRung = false;
    },
    async rung(withinMs: number): Promise<void> {
      if (isRung) return;
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, withinMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
};
