// Arrivals of the mails that are held now, by hour. One small request for each hour at first, and later
// only for the newest hour.
import type {Client} from '../../../client/client.ts';

interface ArrivalHour {
  fromMs: number;
  /** Undefined until it has been read. */
  count: number | undefined;
}

export interface Arrivals {
  /** Oldest first; the last one is still running. */
  hours: readonly ArrivalHour[];
}

const hourMs = 3_600_000;
const hourCount = 24;
/** Between two of the first requests, to spare the rate limit of the key. */
const pauseMs = 100;

interface Needs {
  client: Pick<Client, 'quarantine'>;
  now(): number;
  pause(ms: number): Promise<unknown>;
}

/** Returns the reader: the first call reads all hours, later ones those that may have changed. After a failure the next call continues. */
export const createArrivals = ({client, now, pause}: Needs): ((signal: AbortSignal) => Promise<Arrivals>) => {
  const counts = new Map<number, number>();
  /** Hours that are over and were read after their end. */
  const closed = new Set<number>();

  const read = async (fromMs: number, isOver: boolean): Promise<void> => {
    const since = new Date(fromMs).toISOString();
    const until = isOver ? new Date(fromMs + hourMs).toISOString() : undefined;
    const {totalCount} = await client.quarantine.list({since, until, limit: 1});
    counts.set(fromMs, totalCount ?? 0);
    if (isOver) closed.add(fromMs);
  };

  return async signal => {
    const newest = Math.floor(now() / hourMs) * hourMs;
    const hours = Array.from({length: hourCount}, (_, at) => newest - (hourCount - 1 - at) * hourMs);
    for (const known of [...counts.keys()]) {
      if (hours.includes(known)) continue;
      counts.delete(known);
      closed.delete(known);
    }
    for (const fromMs of hours.toReversed()) {
      if (closed.has(fromMs) || signal.aborted) continue;
      await read(fromMs, fromMs < newest);
      if (fromMs < newest) await pause(pauseMs);
    }
    return {hours: hours.map(fromMs => ({fromMs, count: counts.get(fromMs)}))};
  };
};
