// Log of the events since the dashboard was opened, whichever screen is shown, up to a limit.
import type {ClusterEvent} from '../../../shared/cluster-event.ts';
import {eventTypes} from '../../../shared/event-type.ts';
import {createTailReducer, emptyTail, type Tail, type TailEvent} from '../list/tail.ts';
import {eventRow, type LogRow} from './event-row.ts';
import type {Live} from './live.ts';
import {createStore, type Store} from './store.ts';

export interface EventLog extends Store<Tail<LogRow>, TailEvent<LogRow>> {
  /** Start of the reception of events; undefined before it. */
  receivingSinceMs(): number | undefined;
  /** End of the reception of events; undefined while it lasts. */
  lostAtMs(): number | undefined;
}

interface EventLogNeeds {
  live: Pick<Live, 'get' | 'subscribe' | 'on'>;
  now(): number;
  /** Events within this time are drawn together. */
  burstMs?: number;
}

export const eventLimit = 5000;

const eventReducer = createTailReducer<LogRow>({compare: (a, b) => b.seq - a.seq, limit: eventLimit});

export const startEventLog = ({live, now, burstMs = 100}: EventLogNeeds): EventLog => {
  const store = createStore(eventReducer, emptyTail as Tail<LogRow>);
  let seq = 0;
  let arrived: LogRow[] = [];
  let receivingSinceMs: number | undefined;
  let lostAtMs: number | undefined;

  const flush = (): void => {
    const rows = arrived;
    arrived = [];
    store.dispatch({kind: 'arrived', rows});
  };
  const add = (row: LogRow): void => {
    if (arrived.length === 0) setTimeout(flush, burstMs);
    arrived.push(row);
  };
  const receive = (event: ClusterEvent | undefined): void => {
    seq += 1;
    if (event !== undefined) {
      add(eventRow(event, seq));
      return;
    }
    add({kind: 'gap', key: String(seq), seq, fromMs: lostAtMs ?? now(), toMs: now()});
    lostAtMs = undefined;
  };

  live.on(eventTypes, receive);
  live.subscribe(() => {
    const {connection} = live.get();
    if (connection === 'live') receivingSinceMs ??= now();
    else if (receivingSinceMs !== undefined) lostAtMs ??= now();
  });

  return {...store, receivingSinceMs: () => receivingSinceMs, lostAtMs: () => lostAtMs};
};
