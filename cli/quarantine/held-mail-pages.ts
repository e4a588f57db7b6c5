// Pages of all matching held mail.
import type {HeldMail} from '../../shared/held-mail.ts';
import type {Client, Query} from '../client/client.ts';
import {CliError} from '../errors.ts';
import {mailId} from './held-mail-columns.ts';

export interface HeldMailPage {
  /** Newest first, without mails of earlier pages. */
  mails: HeldMail[];
  /** Of all matches, at the time of this page. */
  totalCount: number | undefined;
  /** Their mail is missing. */
  unreachableNodes: string[];
}

/** The largest page of the API. */
const maxPageSize = 1000;

/**
 * Pages of the list as of the first page: each page begins where the one before has ended
 * in time. Offsets from the top would skip mail when others leave the list, and repeat mail when more arrives.
 */
export async function* heldMailPages(
  client: Pick<Client, 'quarantine'>,
  query: Query,
  signal?: AbortSignal,
): AsyncGenerator<HeldMailPage, void, undefined> {
  /** Ids of the last page, and of earlier pages that ended in the same millisecond. Other mails cannot appear again. */
  let seen = new Set<string>();
  let {until} = query;
  let offset = 0;
  let count = 0;
  let knownPages = 0;
  for (;;) {
    const asked = {...query, until, limit: maxPageSize, offset: offset || undefined};
    const {data, totalCount, unreachableNodes} = await client.quarantine.list(asked, {signal});
    const mails = data.filter(mail => !seen.has(mailId(mail)));
    count += mails.length;
    knownPages = mails.length === 0 ? knownPages + 1 : 0;
    if (count > maxMails || (data.length >= maxPageSize && knownPages > maxKnownPages)) throw endlessList();
    yield {mails, totalCount, unreachableNodes};
    if (data.length < maxPageSize) return;

    // `until` excludes its own millisecond, in which there may be more mail.
    const next = justAfter(data.at(-1)?.arrived_at);
    const isSameMoment = next === undefined || next === until;
    offset = isSameMoment ? offset + maxPageSize : 0;
    until = next ?? until;
    seen = new Set([...(isSameMoment ? seen : []), ...data.map(mailId)]);
  }
}

/** More is no realistic list, and exceeds the memory. */
const maxMails = 1_000_000;
/** Consecutive pages without a new mail: there may be one when many mails arrived in the same millisecond. */
const maxKnownPages = 3;

const endlessList = (): CliError =>
  new CliError('unexpected_answer', 'the list has no end, or more than a million mails', {
    hint: 'narrow it by filters, such as --since or --domain; nothing was changed',
  });

const justAfter = (timestamp: string | undefined): string | undefined => {
  const ms = Date.parse(timestamp ?? '');
  return Number.isNaN(ms) ? undefined : new Date(ms + 1).toISOString();
};
