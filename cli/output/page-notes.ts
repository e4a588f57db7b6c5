// Notes on an answer, printed beside its data.

import type {Answer} from '../client/client.ts';
import {withOffset} from '../command-line/quoting.ts';
import type {Session} from '../session.ts';
import {countText} from './cell-text.ts';
import type {SortFlag} from './sort-rows.ts';

/** Prints the total and the command for the next page; prints nothing when everything was shown. */
export const notePage = (session: Session, {data, totalCount}: Answer<unknown[]>, offset = 0, noun = 'entries'): void => {
  if (totalCount === undefined || data.length >= totalCount) return;
  const end = offset + data.length;
  const next = data.length > 0 && end < totalCount ? `; next: ${withOffset(session.argv, end)}` : '';
  session.printer().note(`${countText(data.length)} of ${countText(totalCount)} ${noun}${next}`);
};

/** Otherwise a sorted page could be mistaken for the first page of the sorted list. */
export const noteSortedPage = (session: Session, {data, totalCount}: Answer<unknown[]>, {sort}: SortFlag): void => {
  if (sort !== undefined && totalCount !== undefined && data.length < totalCount)
    session.printer().note('only this page is sorted; --all sorts the whole list');
};

export const warnOfPartialList = (session: Session, {unreachableNodes}: Pick<Answer<unknown>, 'unreachableNodes'>): void => {
  if (unreachableNodes.length > 0)
    session.printer().warn(`the list is incomplete: ${unreachableNodes.join(', ')} did not answer`);
};

/** For a change that waits for all nodes. */
export const warnOfSilentNodes = (session: Session, {unreachableNodes}: Pick<Answer<unknown>, 'unreachableNodes'>): void => {
  if (unreachableNodes.length > 0)
    session.printer().warn(`did not answer and will follow when reachable: ${unreachableNodes.join(', ')}`);
};
