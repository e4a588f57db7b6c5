// Log of the events since the dashboard was opened, whichever screen is shown, up to a limit.
import type {ClusterEvent} from '../../../shared/cluster-event.ts';
import {type EventType, eventTypes} from '../../../shared/event-type.ts';
import {actorText, senderText} from '../../output/cell-text.ts';
import {hasWords, isOneOf, type ListQuery} from '../list/list-query.ts';
import {createTailReducer, emptyTail, type Tail, type TailEvent} from '../list/tail.ts';
import type {Live, Missed} from './live.ts';
import {createStore, type Store} from './store.ts';

export interface EventLog extends Store<Tail<LogRow>, TailEvent<LogRow>> {
  /** Start of the reception of events; undefined before it. */
  receivingSinceMs(): number | undefined;
  /** End of the reception of events; undefined while it lasts. */
  lostAtMs(): number | undefined;
}

interface EventLogNeeds {
  live: Pick<Live, 'get' | 'subscribe' | 'on' | 'onMissed'>;
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
  live.on(eventTypes, event => {
    if (event === undefined) return;
    seq += 1;
    add(eventRow(event, seq));
  });
  live.onMissed(missed => {
    seq += 1;
    const row = {kind: 'gap', key: String(seq), seq} as const;
    if (missed.kind === 'gap') {
      add({...row, missed});
      return;
    }
    add({...row, missed: {...missed, fromMs: lostAtMs ?? now(), toMs: now()}});
    lostAtMs = undefined;
  });
  live.subscribe(() => {
    const {connection} = live.get();
    if (connection === 'live') receivingSinceMs ??= now();
    else if (receivingSinceMs !== undefined) lostAtMs ??= now();
  });

  return {...store, receivingSinceMs: () => receivingSinceMs, lostAtMs: () => lostAtMs};
};

export interface EventRow {
  key: string;
  /** Increases with each event. */
  seq: number;
  kind: 'event';
  type: EventType;
  at: string;
  node: string;
  /** The mail, domain or key; for a health event the old and the new health. */
  id: string;
  /** The subject of a held mail; for other types what happened. */
  about: string;
  sender: string;
  /** The first recipient, and the number of others. */
  recipient: string;
  score: number | undefined;
}

export interface GapRow {
  key: string;
  seq: number;
  kind: 'gap';
  /** There was no connection between these times, and with `isResumed` the events of mail follow; or those of a node are not known. */
  missed: (Extract<Missed, {kind: 'reconnected'}> & {fromMs: number; toMs: number}) | Extract<Missed, {kind: 'gap'}>;
}

export type LogRow = EventRow | GapRow;

const longest = 300;

const eventRow = (event: ClusterEvent, seq: number): EventRow => {
  const {type, at, node_id: node} = event;
  const {id, about, sender = '', recipient = '', score} = partsOf(event);
  const texts = {about: cut(about), sender: cut(sender), recipient: cut(recipient)};
  return {key: String(seq), seq, kind: 'event', type, at, node, id, ...texts, score};
};

type Parts = Pick<EventRow, 'id' | 'about'> & Partial<Pick<EventRow, 'sender' | 'recipient' | 'score'>>;

const partsOf = (event: ClusterEvent): Parts => {
  switch (event.type) {
    case 'held': {
      const {queue_id: id, subject, sender, recipients, score} = event;
      const [first = '', ...more] = recipients;
      const recipient = more.length === 0 ? first : `${cut(first)} +${more.length}`;
      return {id, about: subject, sender: senderText(sender), recipient, score};
    }
    case 'released':
    case 'discarded': {
      const {queue_id: id, acted_by_key_id: keyId} = event;
      return {id, about: keyId === null ? 'by the node' : actorText(event)};
    }
    case 'domain':
    case 'key':
      return {id: event.name, about: event.change};
    case 'health':
      return {id: `${event.from} → ${event.to}`, about: ''};
    default:
      // A newer node may send types that this program does not know.
      event satisfies never;
      return {id: '', about: ''};
  }
};

const cut = (text: string): string => (text.length > longest ? `${text.slice(0, longest)}…` : text);

/** Gaps match every filter, as matching events may have been lost in them. */
export const matchesEvent = (row: LogRow, {terms, words}: ListQuery): boolean =>
  row.kind === 'gap' ||
  (isOneOf(row.type, terms.type) &&
    isOneOf(row.node, terms.node) &&
    hasWords([row.type, row.node, row.id, row.about, row.sender, row.recipient], words));
