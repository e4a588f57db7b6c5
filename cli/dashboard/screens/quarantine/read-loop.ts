// Reads of a list that is shown, one at a time, until nothing is missing.

import type {Client} from '../../../client/client.ts';
import {asCliError, type CliError} from '../../../errors.ts';
import {parametersOf} from '../../../quarantine/hold-query.ts';
import {createPolling, type PollingOptions} from '../../shell/source.ts';
import {type ListEvent, type ListState, mailAt, mailUnderCursor, type Reading, rowCount} from './list-state.ts';

interface ReadLoopNeeds extends Pick<PollingOptions, 'live' | 'now'> {
  /** The read that is due, if one is; `isStale` when what has been read may be out of date. */
  next(isStale: boolean): (() => Promise<void>) | undefined;
  /** Equal for two reads of the same rows. */
  keyOf(isStale: boolean): string;
  onFailure(failure: CliError): void;
}

/** The delay after an answer that lacks the requested rows, as the list is changing. */
const changingListMs = 1000;

/** stopped ⇄ idle ⇄ reading; idle → resting after a failure, until the next refresh. */
export const createReadLoop = ({live, now, next, keyOf, onFailure}: ReadLoopNeeds) => {
  let isStarted = false;
  let isReading = false;
  let isStale = false;
  let isResting = false;
  let lastKey: string | undefined;

  const run = async (): Promise<void> => {
    if (isReading || !isStarted || isResting) return;
    const read = next(isStale);
    if (!read) return;
    const key = keyOf(isStale);
    if (key === lastKey) {
      isStale = true;
      lastKey = undefined;
      polling.dueIn(changingListMs);
      return;
    }
    lastKey = key;
    isReading = true;
    isStale = false;
    try {
      await read();
      polling.succeeded();
    } catch (error) {
      const failure = asCliError(error);
      isResting = true;
      polling.failed(failure);
      onFailure(failure);
    } finally {
      isReading = false;
    }
    void run();
  };
  const refresh = (): void => {
    isResting = false;
    isStale = true;
    lastKey = undefined;
    polling.begun();
    void run();
  };
  const polling = createPolling({live, now, read: refresh});

  return {
    start: (): void => {
      isStarted = true;
      polling.start();
      refresh();
    },
    stop: (): void => {
      isStarted = false;
      polling.stop();
    },
    /** Something else may be missing now. */
    run: (): void => void run(),
    /** Reads the shown rows again, after a short delay. */
    wake: polling.wake,
    /** Reads the shown rows again now. */
    refresh,
  };
};

interface ReadableList {
  client: Pick<Client, 'quarantine'>;
  now(): number;
  get(): ListState;
  dispatch(event: ListEvent): void;
}

const parametersNow = ({get, now}: ReadableList) => parametersOf(get().query, now());

interface PageExtract extends Extract {
  since?: string;
}

const readPage = async (list: ReadableList, extract: PageExtract): Promise<Reading> => {
  const {version} = list.get();
  const {data, totalCount, unreachableNodes} = await list.client.quarantine.list({...parametersNow(list), ...extract});
  return {version, mails: data, total: totalCount ?? data.length, unreachableNodes, atMs: list.now()};
};

export const readWindow = async (
  list: ReadableList,
  extract: Extract,
  how: {isReread: boolean; isLast?: boolean},
): Promise<void> => {
  const reading = await readPage(list, extract);
  list.dispatch({type: 'window', offset: extract.offset, ...how, ...reading});
};

/** Finds the mail under the cursor by the number of newer ones. */
export const findCursor = async (list: ReadableList): Promise<void> => {
  const {position, total = 0, order} = list.get();
  const arrivedAt = mailUnderCursor(list.get())?.arrived_at ?? '';
  const {since} = parametersNow(list);
  const {total: newer, version} = await readPage(list, {
    offset: 0,
    limit: 1,
    since: [arrivedAt, String(since ?? '')].sort().at(-1) ?? '',
  });
  const to = order === 'oldest' ? total - newer : newer - 1;
  list.dispatch({type: 'shifted', version, by: to - position.cursor, total});
  await readWindow(list, rowsAroundCursor(list.get()), {isReread: true, isLast: true});
};

/** As the API numbers them: newest first. */
export interface Extract {
  offset: number;
  limit: number;
}

const pageSize = 200;

/** Undefined when all rows on the screen, and a screen above and below it, are loaded. */
export const missingRows = (state: ListState): Extract | undefined => {
  const {total, position, height} = state;
  if (total === undefined) return {offset: 0, limit: pageSize};
  const count = rowCount(state);
  const {top} = position;
  const inSight = firstMissing(state, top, Math.min(count, top + height));
  const near = inSight ?? firstMissing(state, Math.max(0, top - height), Math.min(count, top + 2 * height));
  if (near === undefined) return undefined;

  // Extends the loaded rows downwards or upwards; without neighbouring rows, reads around the missing one.
  const isBelow = near > 0 && mailAt(state, near - 1) !== undefined;
  let end = near;
  while (end < Math.min(count, near + pageSize) && !mailAt(state, end)) end += 1;
  const isAbove = !isBelow && end < count && end < near + pageSize;
  const first = isBelow ? near : isAbove ? end - pageSize : near - pageSize / 2;
  return extract(state, first);
};

export const rowsAroundCursor = (state: ListState): Extract =>
  state.total === undefined ? {offset: 0, limit: pageSize} : extract(state, state.position.cursor - pageSize / 2);

const firstMissing = (state: ListState, from: number, to: number): number | undefined => {
  for (let at = from; at < to; at += 1) if (!mailAt(state, at)) return at;
  return undefined;
};

const extract = ({order, total = 0}: ListState, first: number): Extract => {
  const from = Math.max(0, Math.min(first, total - pageSize));
  return {offset: order === 'oldest' ? Math.max(0, total - from - pageSize) : from, limit: pageSize};
};
