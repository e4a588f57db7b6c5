// Whole list of held mail, read for the orders that the API does not have.
import type {HeldMail} from '../../../../shared/held-mail.ts';
import {mailId} from '../../../quarantine/held-mail-columns.ts';
import {heldMailPages} from '../../../quarantine/held-mail-pages.ts';
import {maxSorted, type Reading, rowCount} from './list-state.ts';
import {pageSize, parametersNow, type ReadableList, readPage} from './read-loop.ts';

/** The shortest time between two reads of a whole list. */
const readAgainMs = 30_000;
const noEnd = new AbortController().signal;

export const createSortedList = (list: ReadableList) => {
  const {client, now, get, dispatch} = list;
  let readVersion = 0;
  let readAtMs = 0;
  /** Undefined while no whole list is being read. */
  let goneMeanwhile: Set<string> | undefined;

  const readPages = async (gone: ReadonlySet<string>, isWanted: () => boolean): Promise<void> => {
    const {version, sorted} = get();
    readVersion = version;
    readAtMs = now();
    const isAgain = sorted.length > 0;
    const all: HeldMail[] = [];
    let latest: Reading = {version, mails: [], total: 0, unreachableNodes: [], atMs: now()};
    for await (const {mails, totalCount, unreachableNodes} of heldMailPages(client, parametersNow(list), noEnd)) {
      if (get().version !== version || !isWanted()) {
        if (get().version === version) readVersion = 0;
        return;
      }
      all.push(...mails);
      // Later pages count only what is older.
      const total = latest.total || (totalCount ?? mails.length);
      latest = {version, mails, total, unreachableNodes, atMs: now()};
      if (!isAgain) dispatch({type: 'gathered', isAll: false, isEnd: false, ...latest});
      if (all.length >= maxSorted) break;
    }
    const held = all.filter(mail => !gone.has(mailId(mail)));
    dispatch({type: 'gathered', isAll: true, isEnd: true, ...latest, mails: held.slice(0, maxSorted)});
  };

  return {
    /** True until that list has been read, or is being read. */
    isUnread: (): boolean => readVersion !== get().version,
    /** The next read is of the whole list. */
    forget: (): void => {
      readVersion = 0;
    },
    /** Stops between two pages when `isWanted` returns false. */
    readAll: async (isWanted: () => boolean): Promise<void> => {
      goneMeanwhile = new Set();
      await readPages(goneMeanwhile, isWanted).finally(() => {
        goneMeanwhile = undefined;
      });
    },
    /** Adds new mail. Events report mail that has left; the total reveals missed ones. */
    readNew: async (): Promise<void> => {
      const reading = await readPage(list, {offset: 0, limit: pageSize});
      dispatch({type: 'gathered', isAll: false, isEnd: true, ...reading});
      const isComplete = reading.total > maxSorted || rowCount(get()) === reading.total;
      if (!isComplete && now() - readAtMs > readAgainMs) readVersion = 0;
    },
    /** A mail has left, which pages that are being read may still contain. */
    leave: (id: string): void => void goneMeanwhile?.add(id),
  };
};
