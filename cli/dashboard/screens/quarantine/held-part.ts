// The part of the list of held mail around the cursor. Any number of mails may be held: one page is kept, and read again after
// events and when the cursor leaves it.
import type {HeldMail} from '../../../../shared/held-mail.ts';
import type {Query} from '../../../client/client.ts';
import {mailId} from '../../../quarantine/held-mail-columns.ts';
import {parametersOf} from '../../../quarantine/hold-query.ts';
import {parseQuery} from '../../../quarantine/query-line.ts';
import type {ListEvent, ListState} from '../../list/list.ts';
import type {ShownList} from '../../list/list-lines.ts';
import {initialPosition} from '../../list/list-window.ts';
import type {AppContext} from '../../shell/app-context.ts';
import {createValue, type Store} from '../../shell/store.ts';

/** A page of the list, as answered. */
export interface HeldPart extends Pick<ListState, 'filter' | 'order'> {
  /** In the order of the list, from row number `offset` on. */
  mails: readonly HeldMail[];
  offset: number;
  /** The number of all matches. */
  total: number;
  unreachableNodes: readonly string[];
}

interface HeldPartNeeds extends Pick<AppContext, 'now' | 'source'> {
  client: Pick<AppContext['client'], 'quarantine'>;
  state: Store<ListState, ListEvent>;
  /** So many mails have arrived above the cursor. */
  onArrived(count: number): void;
}

const oldestFirst = 1;
/** Of the list, as the API returns them. */
export const mailOrders = ['newest', 'oldest'].map(name => ({name, compare: () => 0}));

const minPageSize = 300;
/** Of the API. */
const maxPageSize = 1000;

export const createHeldPart = ({client, now, source: sourceOf, state, onArrived}: HeldPartNeeds) => {
  const {get, subscribe, set} = createValue<HeldPart | undefined>(undefined);
  const {readAround, rowOf} = createReader({client, now});
  let height = 1;
  let isReading = false;
  let lastRead = '';

  const current = (): HeldPart | undefined => partFor(state.get(), get());
  /** Equal for two reads of the same rows. */
  const wanted = (): string => {
    const {filter, order, position} = state.get();
    return JSON.stringify([filter, order, position, height, current()?.total]);
  };

  const load = async (signal: AbortSignal): Promise<void> => {
    const {filter, order, position} = state.get();
    const before = current();
    lastRead = wanted();
    isReading = true;
    try {
      let part = await readAround(position.cursor, {filter, order, total: before?.total ?? 0}, {height, signal});
      let row: number | undefined;
      // The list has moved, or the cursor has while this was read.
      for (let last: HeldMail | undefined; ; ) {
        const lost = mailOf(before, state.get().cursorKey);
        if (!lost || lost === last || isDecided(part, lost)) break;
        last = lost;
        row = await rowOf(lost, part, signal);
        part = await readAround(row, part, {height, signal});
      }
      show(before, part, row);
    } finally {
      isReading = false;
    }
  };

  /** The cursor stays on its mail, or goes to the nearest one; to `row` if all of those that were known have left. */
  const show = (before: HeldPart | undefined, part: HeldPart, row?: number): void => {
    const {cursorKey, position} = state.get();
    set(part);
    if (part.total === 0) state.dispatch({kind: 'placed', position: initialPosition, cursorKey: undefined});
    // It was moved to an end whose row had not been read: the end may be elsewhere now.
    else if (cursorKey === undefined && position.cursor > 0 && position.cursor + 1 === before?.total)
      state.dispatch({kind: 'placed', position: {...position, cursor: part.total - 1}, cursorKey});
    const mail = nearest(before, part, cursorKey) ?? (row === undefined ? undefined : part.mails[row - part.offset]);
    // Without a key it follows the newest, or has left the rows that were known.
    if (!mail || cursorKey === undefined) return;
    const id = mailId(mail);
    if (id !== cursorKey) state.dispatch({kind: 'chosen', cursorKey: id});
    const down = rowIn(part, id) - rowIn(before, id);
    if (down > 0 && part.order !== oldestFirst) onArrived(down);
  };

  const source = sourceOf('held mail', {load, refreshOn: ['held', 'released', 'discarded', 'health']});
  return {
    get,
    subscribe,
    /** When it was read, and why it could not be read. */
    source,
    /** Called after each drawing: reads what is missing on the screen, or a screen above or below it. */
    see: ({position: {top}, height: rows}: Pick<ShownList<HeldMail>, 'position' | 'height'>): void => {
      height = rows;
      const {loadedAtMs, failure} = source.get();
      // The source itself begins, and repeats what has failed.
      if (isReading || loadedAtMs === undefined || failure || wanted() === lastRead) return;
      const part = current();
      const [from, to] = [Math.max(0, top - rows), Math.min(part?.total ?? 0, top + 2 * rows)];
      if (!part || from < part.offset || to > part.offset + part.mails.length) source.refresh();
    },
  };
};

interface PageNeeds {
  /** The height of the screen decides how many rows are read. */
  height: number;
  signal: AbortSignal;
}

const createReader = ({client, now}: Pick<HeldPartNeeds, 'client' | 'now'>) => {
  const read = (filter: string, {since = '', ...extract}: Query & {since?: string}, signal: AbortSignal) => {
    const parameters = parametersOf(parseQuery(filter), now());
    const latest = [parameters.since ?? '', since].sort().at(-1);
    return client.quarantine.list({...parameters, ...extract, since: latest || undefined}, {signal});
  };
  return {
    /** The page around this row of a list with `total` rows. The API numbers them from the newest on. */
    readAround: async (
      row: number,
      {filter, order, total: rows}: Pick<HeldPart, 'filter' | 'order' | 'total'>,
      {height, signal}: PageNeeds,
    ): Promise<HeldPart> => {
      const limit = Math.min(maxPageSize, Math.max(minPageSize, 8 * height));
      const first = Math.max(0, Math.min(Math.round(row - limit / 2), rows - limit));
      const isReversed = order === oldestFirst;
      const offset = isReversed ? Math.max(0, rows - first - limit) : first;
      // Mail that has arrived since pushes the page towards newer rows, so that the first or the last ones would be missing.
      const asked = isReversed || row === rows - 1 ? Math.min(maxPageSize, limit + minPageSize) : limit;
      const {data, totalCount, unreachableNodes} = await read(filter, {limit: asked, offset}, signal);
      const total = totalCount ?? data.length;
      return {
        ...{filter, order, total, unreachableNodes},
        mails: isReversed ? data.toReversed() : data,
        offset: isReversed ? Math.max(0, total - offset - data.length) : offset,
      };
    },
    /** The row of a mail that is on no page, by the number of newer ones. */
    rowOf: async ({arrived_at: since}: HeldMail, {filter, order, total}: HeldPart, signal: AbortSignal): Promise<number> => {
      const {totalCount: newer = 1} = await read(filter, {since, limit: 1, offset: 0}, signal);
      return Math.max(0, order === oldestFirst ? total - newer : newer - 1);
    },
  };
};

/** Undefined when it answers another question. */
export const partFor = (
  {filter, order}: Pick<ListState, 'filter' | 'order'>,
  part: HeldPart | undefined,
): HeldPart | undefined => (part?.filter === filter && part.order === order ? part : undefined);

/** NaN without it. */
const rowIn = (part: HeldPart | undefined, id: string): number => {
  const at = part?.mails.findIndex(mail => mailId(mail) === id) ?? -1;
  return at === -1 ? Number.NaN : at + (part?.offset ?? 0);
};

/** Whether the page has this mail, or shows that it has left: the rows around its place are there, and it is not. */
const isDecided = ({mails, offset, total, order}: HeldPart, mail: HeldMail): boolean => {
  const id = mailId(mail);
  if (total === 0 || mails.some(other => mailId(other) === id)) return true;
  const isBefore = (one = '', other = ''): boolean => (order === oldestFirst ? one < other : one > other);
  const isAfterFirst = offset === 0 || isBefore(mails[0]?.arrived_at, mail.arrived_at);
  const isBeforeLast = offset + mails.length >= total || isBefore(mail.arrived_at, mails.at(-1)?.arrived_at);
  return mails.length > 0 && isAfterFirst && isBeforeLast;
};

const mailOf = (part: HeldPart | undefined, id: string | undefined): HeldMail | undefined =>
  part?.mails.find(mail => mailId(mail) === id);

/** The mail of this id, or the nearest one that remains, first those below it: they move up. */
const nearest = (before: HeldPart | undefined, after: HeldPart, id: string | undefined): HeldMail | undefined => {
  const at = before?.mails.findIndex(mail => mailId(mail) === id) ?? -1;
  if (!before || at === -1) return undefined;
  const known = new Map(after.mails.map(mail => [mailId(mail), mail]));
  const others = [...before.mails.slice(at), ...before.mails.slice(0, at).reverse()];
  return known.get(others.map(mailId).find(other => known.has(other)) ?? '');
};
