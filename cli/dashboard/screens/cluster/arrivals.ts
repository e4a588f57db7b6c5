// How many of the mails that are held now arrived in which hour. One small request for each hour at the beginning, and from then on
// for the newest hour alone.
import type {Client} from '../../../client/client.ts';

interface ArrivalHour {
  fromMs: number;
  /** Undefined until it has been asked for. */
  count: number | undefined;
}

export interface Arrivals {
  /** Oldest first; the last one is not over. */
  hours: readonly ArrivalHour[];
}

const hourMs = 3_600_000;
const hourCount = 24;
/** Between two requests of the beginning: they are not what the limit of the key is for. */
const pauseMs = 100;

interface Needs {
  client: Pick<Client, 'quarantine'>;
  now(): number;
  pause(ms: number): Promise<unknown>;
}

/** Returns what reads: the first time all hours, then what may have changed. A reading that fails is gone on with by the next. */
export const createArrivals = ({client, now, pause}: Needs): ((signal: AbortSignal) => Promise<Arrivals>) => {
  const counts = new Map<number, number>();
  /** Read for the last time: it is over. */
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
