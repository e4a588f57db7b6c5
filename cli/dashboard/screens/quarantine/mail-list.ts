// List of held mail: reads the rows that are shown, and reads them again after events, while the screen is shown.
import type {HeldMail} from '../../../../shared/held-mail.ts';
import type {Client} from '../../../client/client.ts';
import {asCliError} from '../../../errors.ts';
import {heldMailPages} from '../../../quarantine/held-mail-pages.ts';
import {parametersOf} from '../../../quarantine/hold-query.ts';
import {mailId} from '../../../quarantine/mail-id.ts';
import type {Live} from '../../shell/live.ts';
import {createPolling} from '../../shell/polling.ts';
import {createStore, type Store} from '../../shell/store.ts';
import {afterEvent, type ListEvent, type ListState, listBegin, mailUnderCursor, type Reading, rowCount} from './list-state.ts';
import {isByTime, mostSorted} from './mail-order.ts';
import {type Extract, missingRows, pageSize, rowsAroundCursor} from './wanted-rows.ts';

export interface MailList extends Store<ListState, ListEvent> {
  /** What is on the screen is read again. */
  refresh(): void;
  /** Reading goes on until the function that is returned is called. */
  show(): () => void;
}

interface MailListNeeds {
  client: Pick<Client, 'quarantine'>;
  live: Pick<Live, 'on' | 'get' | 'answered' | 'failed'>;
  now(): number;
}

/** What is not wanted any more ends between two pages. */
const noEnd = new AbortController().signal;
/** Between two times that a whole sorted list is read again. */
const gatherAgainMs = 30_000;

export const createMailList = ({client, live, now}: MailListNeeds): MailList => {
  const {get, subscribe, dispatch: reduce} = createStore(afterEvent, listBegin());
  let isShown = false;
  let isBusy = false;
  let isStale = false;
  /** That list has all been read, or is being read. */
  let gatheredVersion = 0;
  let gatheredAtMs = 0;
  /** Left while a list is being read, in which they may still be; undefined while none is. */
  let goneMeanwhile: Set<string> | undefined;
  let isResting = false;
  /** Of the extract read last, to notice one that does not help. */
  let lastRead = '';

  const dispatch = (event: ListEvent): void => {
    const before = get();
    reduce(event);
    if (get() !== before) void work();
  };
  const parameters = () => parametersOf(get().query, now());
  const read = async (extract: {offset: number; limit: number; since?: string}): Promise<Reading> => {
    const {version} = get();
    const {data, totalCount, unreachableNodes} = await client.quarantine.list({...parameters(), ...extract});
    return {version, mails: data, total: totalCount ?? data.length, unreachableNodes, atMs: now()};
  };
  const readWindow = async (extract: Extract, how: {isAnew: boolean; isLast?: boolean}): Promise<void> => {
    const reading = await read(extract);
    dispatch({type: 'window', offset: extract.offset, ...how, ...reading});
  };
  /** Counts what is newer than the mail under the cursor. */
  const findCursor = async (): Promise<void> => {
    const {position, total = 0, order} = get();
    const arrivedAt = mailUnderCursor(get())?.arrived_at ?? '';
    const {since} = parameters();
    const {total: newer, version} = await read({
      offset: 0,
      limit: 1,
      since: [arrivedAt, String(since ?? '')].sort().at(-1) ?? '',
    });
    const to = order === 'oldest' ? total - newer : newer - 1;
    dispatch({type: 'shifted', version, by: to - position.cursor, total});
    await readWindow(rowsAroundCursor(get()), {isAnew: true, isLast: true});
  };
  const gather = async (): Promise<void> => {
    const {version, sorted} = get();
    gatheredVersion = version;
    gatheredAtMs = now();
    const gone = new Set<string>();
    goneMeanwhile = gone;
    const isAgain = sorted.length > 0;
    const all: HeldMail[] = [];
    let latest: Reading = {version, mails: [], total: 0, unreachableNodes: [], atMs: now()};
    for await (const {mails, totalCount, unreachableNodes} of heldMailPages(client, parameters(), noEnd)) {
      if (get().version !== version || !isShown) {
        if (get().version === version) gatheredVersion = 0;
        return;
      }
      all.push(...mails);
      // Later pages count only what is older.
      const total = latest.total || (totalCount ?? mails.length);
      latest = {version, mails, total, unreachableNodes, atMs: now()};
      if (!isAgain) dispatch({type: 'gathered', isAll: false, isEnd: false, ...latest});
      if (all.length >= mostSorted) break;
    }
    const held = all.filter(mail => !gone.has(mailId(mail)));
    dispatch({type: 'gathered', isAll: true, isEnd: true, ...latest, mails: held.slice(0, mostSorted)});
  };
  /** What is new is added; what has gone was told by events, and shows in the number if it was not. */
  const gatherNew = async (): Promise<void> => {
    const reading = await read({offset: 0, limit: pageSize});
    dispatch({type: 'gathered', isAll: false, isEnd: true, ...reading});
    const isComplete = reading.total > mostSorted || rowCount(get()) === reading.total;
    if (!isComplete && now() - gatheredAtMs > gatherAgainMs) gatheredVersion = 0;
  };

  const nextWork = (): (() => Promise<void>) | undefined => {
    if (get().isLost) return findCursor;
    if (!isByTime(get().order)) {
      if (gatheredVersion !== get().version) return gather;
      return isStale ? gatherNew : undefined;
    }
    if (isStale) return () => readWindow(rowsAroundCursor(get()), {isAnew: true});
    const missing = missingRows(get());
    return missing && (() => readWindow(missing, {isAnew: false}));
  };
  const describe = (): string => JSON.stringify([get().version, isStale, get().isLost, missingRows(get())]);

  const work = async (): Promise<void> => {
    if (isBusy || !isShown || isResting) return;
    const job = nextWork();
    if (!job) return;
    const what = describe();
    if (what === lastRead && isByTime(get().order)) {
      // The answer did not hold what was asked for: the list is changing, and is asked again a little later.
      isStale = true;
      lastRead = '';
      polling.dueIn(1000);
      return;
    }
    lastRead = what;
    isBusy = true;
    isStale = false;
    try {
      await job();
      polling.succeeded();
    } catch (error) {
      const failure = asCliError(error);
      isResting = true;
      gatheredVersion = 0;
      polling.failed(failure);
      dispatch({type: 'failed', failure});
    } finally {
      isBusy = false;
      goneMeanwhile = undefined;
    }
    void work();
  };
  const refresh = (): void => {
    isResting = false;
    isStale = true;
    lastRead = '';
    polling.begun();
    void work();
  };
  const polling = createPolling({live, now, read: refresh});

  return {
    get,
    subscribe,
    dispatch,
    refresh,
    show: () => {
      isShown = true;
      polling.start();
      const stop = live.on(['held', 'released', 'discarded'], event => {
        if (event?.type === 'released' || event?.type === 'discarded') {
          goneMeanwhile?.add(mailId(event));
          dispatch({type: 'gone', ids: new Set([mailId(event)])});
        }
        if (event === undefined) gatheredVersion = 0;
        polling.wake();
      });
      refresh();
      return () => {
        isShown = false;
        stop();
        polling.stop();
      };
    },
  };
};
