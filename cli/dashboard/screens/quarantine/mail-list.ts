// List of held mail: reads the rows that are shown, and reads them again after events, while the screen is shown.
import type {Client} from '../../../client/client.ts';
import {mailId} from '../../../quarantine/mail-id.ts';
import type {Live} from '../../shell/live.ts';
import {createStore, type Store} from '../../shell/store.ts';
import {findCursor, readWindow} from './list-reads.ts';
import {afterEvent, initialList, type ListEvent, type ListState} from './list-state.ts';
import {isByTime} from './mail-order.ts';
import {createReadLoop} from './read-loop.ts';
import {createSortedList} from './sorted-list.ts';
import {missingRows, rowsAroundCursor} from './wanted-rows.ts';

export interface MailList extends Store<ListState, ListEvent> {
  /** Reads the rows on the screen again. */
  refresh(): void;
  /** Starts reading. Returns a function that stops it. */
  show(): () => void;
}

interface MailListNeeds {
  client: Pick<Client, 'quarantine'>;
  live: Pick<Live, 'on' | 'get' | 'answered' | 'failed'>;
  now(): number;
}

export const createMailList = ({client, live, now}: MailListNeeds): MailList => {
  const {get, subscribe, dispatch: reduce} = createStore(afterEvent, initialList());
  const dispatch = (event: ListEvent): void => {
    const before = get();
    reduce(event);
    if (get() !== before) loop.run();
  };
  const list = {client, now, get, dispatch};
  const sorted = createSortedList(list);

  const nextRead = (isStale: boolean): (() => Promise<void>) | undefined => {
    if (get().isLost) return () => findCursor(list);
    if (!isByTime(get().order)) {
      if (sorted.isUnread()) return () => sorted.readAll(loop.isStarted);
      return isStale ? sorted.readNew : undefined;
    }
    if (isStale) return () => readWindow(list, rowsAroundCursor(get()), {isReread: true});
    const missing = missingRows(get());
    return missing && (() => readWindow(list, missing, {isReread: false}));
  };
  const loop = createReadLoop({
    live,
    now,
    next: nextRead,
    keyOf: isStale => {
      const {order, version, isLost} = get();
      return isByTime(order) ? JSON.stringify([version, isStale, isLost, missingRows(get())]) : undefined;
    },
    onFailure: failure => {
      sorted.forget();
      dispatch({type: 'failed', failure});
    },
  });

  return {
    get,
    subscribe,
    dispatch,
    refresh: loop.refresh,
    show: () => {
      const stop = live.on(['held', 'released', 'discarded'], event => {
        if (event?.type === 'released' || event?.type === 'discarded') {
          sorted.leave(mailId(event));
          dispatch({type: 'gone', ids: new Set([mailId(event)])});
        }
        if (event === undefined) sorted.forget();
        loop.wake();
      });
      loop.start();
      return () => {
        stop();
        loop.stop();
      };
    },
  };
};
