// State of the list of held mail: a window over any number of mails, of which only those around the cursor are loaded. Rows are
// identified by their number in the list as it was read last; the cursor stays on its mail when that number changes.

import {hasOwn} from '../../../../shared/has-own.ts';
import type {HeldMail} from '../../../../shared/held-mail.ts';
import type {CliError} from '../../../errors.ts';
import {mailId} from '../../../quarantine/held-mail-columns.ts';
import type {HoldQuery} from '../../../quarantine/hold-query.ts';
import {initialPosition, type ListPosition, within} from '../../list/list-window.ts';

export interface ListState {
  query: HoldQuery;
  order: MailOrder;
  /** Increases with each new list, so that late answers about an old one are dropped. */
  version: number;
  /** The number of matches; undefined until the first answer. */
  total: number | undefined;
  /** Rows by number, up to a limit. */
  rows: ReadonlyMap<number, HeldMail>;
  position: ListPosition;
  height: number;
  /** Whether the cursor stays on its mail even at the top, where it otherwise follows the newest. */
  isPinned: boolean;
  /** Mails that have arrived above the cursor since it left the top. */
  newAbove: number;
  /** The list has moved so far that the last reading did not contain the mail under the cursor. */
  isLost: boolean;
  loadedAtMs: number | undefined;
  /** Of the last attempt. */
  failure: CliError | undefined;
  unreachableNodes: readonly string[];
}

/** One answer of the API. */
export interface Reading {
  version: number;
  mails: readonly HeldMail[];
  total: number;
  unreachableNodes: readonly string[];
  atMs: number;
}

export type ListEvent =
  | {type: 'asked'; query: HoldQuery; order: MailOrder}
  | {type: 'moved'; position: ListPosition}
  | {type: 'resized'; height: number}
  | ({type: 'pinned'} & Pick<ListState, 'isPinned'>)
  /** Newest first, from `offset` on. `isReread`: loaded rows may be out of date. */
  | ({type: 'window'; offset: number; isReread: boolean; isLast?: boolean} & Reading)
  | {type: 'shifted'; version: number; by: number; total: number}
  | {type: 'failed'; failure: CliError};

/** Rows that are kept, around the cursor. */
const maxRows = 3000;

export const initialList = (query: HoldQuery = {}, order: MailOrder = 'newest'): ListState => ({
  query,
  order,
  version: 1,
  total: undefined,
  rows: new Map(),
  position: initialPosition,
  height: 1,
  isPinned: false,
  newAbove: 0,
  isLost: false,
  loadedAtMs: undefined,
  failure: undefined,
  unreachableNodes: [],
});

/** The number of rows. */
export const rowCount = ({total = 0}: ListState): number => total;

/** Undefined while it is not loaded. */
export const mailAt = ({rows}: ListState, index: number): HeldMail | undefined => rows.get(index);

export const mailUnderCursor = (state: ListState): HeldMail | undefined => mailAt(state, state.position.cursor);

export const afterEvent = (state: ListState, event: ListEvent): ListState => {
  if (hasOwn(event, 'version') && event.version !== state.version) return state;
  switch (event.type) {
    case 'asked':
      return {
        ...initialList(event.query, event.order),
        version: state.version + 1,
        height: state.height,
        isPinned: state.isPinned,
        unreachableNodes: state.unreachableNodes,
      };
    case 'moved':
      return {...state, position: event.position, newAbove: event.position.cursor === 0 ? 0 : state.newAbove};
    case 'resized':
      return placed({...state, height: event.height}, state.position);
    case 'pinned':
      return {...state, isPinned: event.isPinned};
    case 'window':
      return withWindow(state, event);
    case 'shifted':
      return {
        ...moveBy({...state, total: event.total, rows: renumbered(state.rows, event.by)}, event.by),
        isLost: false,
      };
    case 'failed':
      return {...state, failure: event.failure};
    default:
      return event satisfies never;
  }
};

const facts = ({total, unreachableNodes, atMs}: Reading) => ({total, unreachableNodes, loadedAtMs: atMs, failure: undefined});

const withWindow = (state: ListState, event: Extract<ListEvent, {type: 'window'}>): ListState => {
  const {mails, offset, total, isReread, isLast = false} = event;
  const numberOf = (at: number): number => (state.order === 'oldest' ? total - 1 - offset - at : offset + at);
  const read = new Map(mails.map((mail, at) => [numberOf(at), mail]));
  if (!isReread && state.total === total)
    return {...state, ...facts(event), rows: bounded(joined(state.rows, read), state.position)};

  const next = {...state, ...facts(event), rows: read, isLost: false};
  if (isAtTop(state) || !mailUnderCursor(state)) return placed(next, state.position);
  const by = shiftBetween(state, read);
  if (by !== undefined) return withCursorOnMail(state, moveBy(next, by), by);
  return isLast || total === 0 ? placed(next, state.position) : {...state, ...facts(event), isLost: true};
};

/** Whether the cursor follows the newest mail. */
const isAtTop = ({order, position, isPinned}: ListState): boolean =>
  order !== 'oldest' && position.cursor === 0 && position.top === 0 && !isPinned;

/** How many rows the mail under the cursor has moved down; if it is gone, the nearest remaining mail, first those below it. */
const shiftBetween = (before: ListState, read: ReadonlyMap<number, HeldMail>): number | undefined => {
  const numbers = new Map([...read].map(([number, mail]) => [mailId(mail), number]));
  const {cursor} = before.position;
  for (const step of [1, -1])
    for (let at = step === 1 ? cursor : cursor - 1; ; at += step) {
      const mail = before.rows.get(at);
      if (!mail) break;
      const number = numbers.get(mailId(mail));
      // A mail below moves up by the mails that have left in between.
      if (number !== undefined) return step === 1 ? number - cursor : number - at;
    }
  return undefined;
};

const withCursorOnMail = (before: ListState, after: ListState, by: number): ListState =>
  by > 0 && after.order === 'newest' && before.total !== undefined ? {...after, newAbove: before.newAbove + by} : after;

const moveBy = (state: ListState, by: number): ListState =>
  placed(state, {cursor: state.position.cursor + by, top: Math.max(0, state.position.top + by)});

const placed = (state: ListState, position: ListPosition): ListState => {
  const to = within(position, {count: rowCount(state), height: state.height});
  return {...state, position: to, newAbove: to.cursor === 0 ? 0 : state.newAbove};
};

const joined = (rows: ReadonlyMap<number, HeldMail>, read: ReadonlyMap<number, HeldMail>) => new Map([...rows, ...read]);

const renumbered = (rows: ReadonlyMap<number, HeldMail>, by: number) =>
  new Map([...rows].map(([number, mail]) => [number + by, mail]));

const bounded = (rows: Map<number, HeldMail>, {cursor}: ListPosition): ReadonlyMap<number, HeldMail> => {
  if (rows.size <= maxRows) return rows;
  const nearest = [...rows].sort(([a], [b]) => Math.abs(a - cursor) - Math.abs(b - cursor));
  return new Map(nearest.slice(0, maxRows));
};

export const mailOrders = ['newest', 'oldest'] as const;
export type MailOrder = (typeof mailOrders)[number];

export const orderLabels: Record<MailOrder, string> = {newest: 'newest first', oldest: 'oldest first'};
