// Reads of the list of held mail. Each of them ends in an event of its state.
import type {Client} from '../../../client/client.ts';
import {parametersOf} from '../../../quarantine/hold-query.ts';
import {type ListEvent, type ListState, mailUnderCursor, type Reading} from './list-state.ts';
import {type Extract, rowsAroundCursor} from './wanted-rows.ts';

export interface ReadableList {
  client: Pick<Client, 'quarantine'>;
  now(): number;
  get(): ListState;
  dispatch(event: ListEvent): void;
}

export const parametersNow = ({get, now}: ReadableList) => parametersOf(get().query, now());

interface PageExtract extends Extract {
  since?: string;
}

export const readPage = async (list: ReadableList, extract: PageExtract): Promise<Reading> => {
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
