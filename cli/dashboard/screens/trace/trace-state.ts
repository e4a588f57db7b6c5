// Entries of the event logs of all nodes: the newest, and older ones as far as the user has scrolled. Plain data.
import type {MailEvent} from '../../../../shared/mail-event.ts';
import {createTailReducer, emptyTail, type Tail} from '../../list/tail.ts';

/** `place` grows with the order of the log, which need not be that of the times: a clock may have been set back. */
export type TraceRow = MailEvent & {key: string; place: number};

/** One page, as answered. */
export interface TracePage {
  /** Newest first. */
  events: readonly MailEvent[];
  /** Whether the page is full: there may be older entries. */
  isFull: boolean;
  unreachable: readonly string[];
}

export interface TraceState {
  tail: Tail<TraceRow>;
  /** Whether anything has been answered for this filter. */
  isRead: boolean;
  /** The cursor for older entries; undefined at the end. */
  next: string | undefined;
  /** Nodes whose entries are missing. */
  unreachable: readonly string[];
  /** As it was typed. */
  filter: string;
  older: 'idle' | 'asked' | 'failed';
}

export type TraceEvent =
  /** Requests of an earlier visit to the screen no longer count. */
  | {kind: 'opened'}
  | {kind: 'newest'; page: TracePage; filter: string}
  | {kind: 'older-asked'}
  | {kind: 'older'; page: TracePage; cursor: string; filter: string}
  | {kind: 'older-failed'}
  | {kind: 'filtered'; filter: string}
  | {kind: 'pause-toggled'};

export const traceLimit = 5000;

const tailReducer = createTailReducer<TraceRow>({compare: (a, b) => b.place - a.place, limit: traceLimit});

export const emptyTrace: TraceState = {
  tail: emptyTail,
  isRead: false,
  next: undefined,
  unreachable: [],
  filter: '',
  older: 'idle',
};

export const traceReducer = (state: TraceState, event: TraceEvent): TraceState => {
  switch (event.kind) {
    case 'opened':
      return {...state, older: 'idle'};
    case 'newest':
      return event.filter === state.filter ? withNewest(state, event.page) : state;
    case 'older-asked':
      return {...state, older: 'asked'};
    case 'older-failed':
      return {...state, older: 'failed'};
    case 'older':
      return event.filter === state.filter && event.cursor === state.next ? withOlder(state, event.page) : state;
    case 'filtered':
      return event.filter === state.filter ? state : {...emptyTrace, filter: event.filter};
    case 'pause-toggled':
      return {...state, tail: tailReducer(state.tail, event)};
    default:
      return event satisfies never;
  }
};

const cursorAfter = ({events, isFull}: TracePage): string | undefined => (isFull ? events.at(-1)?.id : undefined);

const rowsIn = ({tail}: TraceState): TraceRow[] => [...tail.waiting, ...tail.rows];

const withOlder = (state: TraceState, page: TracePage): TraceState => {
  const first = rowsIn(state).reduce((least, {place}) => Math.min(least, place), 0);
  const rows = page.events.map((event, at) => ({...event, key: event.id, place: first - 1 - at}));
  return {...state, tail: tailReducer(state.tail, {kind: 'older-read', rows}), next: cursorAfter(page), older: 'idle'};
};

/** Known entries link the page to the list; without them, or with other nodes, the list starts again. */
const withNewest = (state: TraceState, page: TracePage): TraceState => {
  const known = new Map(rowsIn(state).map(row => [row.key, row]));
  const isLinked = page.events.some(({id}) => known.has(id));
  const isNewList = known.size === 0 || !isLinked || page.unreachable.join() !== state.unreachable.join();
  const last = rowsIn(state).reduce((most, {place}) => Math.max(most, place), 0);
  const fresh = page.events.filter(({id}) => isNewList || !known.has(id));
  const rows = fresh.map((event, at) => ({...event, key: event.id, place: last + fresh.length - at}));
  return {
    ...state,
    tail: rows.length === 0 && !isNewList ? state.tail : tailReducer(state.tail, {kind: 'arrived', rows, isNewList}),
    isRead: true,
    next: isNewList ? cursorAfter(page) : state.next,
    unreachable: page.unreachable,
    older: state.older === 'failed' ? 'idle' : state.older,
  };
};

/** Whether older entries may exist and the limit allows them. */
export const hasOlder = ({tail, next}: TraceState): boolean =>
  next !== undefined && !tail.replacesRows && tail.rows.length + tail.waiting.length < traceLimit;
