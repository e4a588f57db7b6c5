// All that matches a query, however much it is and whatever happens meanwhile.
import type {HeldMail} from '../../../shared/held-mail.ts';
import type {Client} from '../../client.ts';
import {mailId} from '../../mail-id.ts';
import type {QueryParameters} from './query-meaning.ts';

export interface MatchingChunk {
  /** Each once, newest first; none that was in an earlier chunk. */
  mails: HeldMail[];
  /** All matches at the time of the first chunk. */
  total: number;
  unreachableNodes: string[];
}

const chunkSize = 1000;

/**
 * Newest first. Goes on by time and not by number: what arrives or leaves meanwhile moves the numbers, and mails would be missed or
 * come twice. Mail that arrives after the beginning is left out.
 */
export async function* matchingMails(
  client: Pick<Client, 'send'>,
  parameters: QueryParameters,
  size = chunkSize,
): AsyncGenerator<MatchingChunk> {
  let until = parameters.until;
  let offset = 0;
  let total: number | undefined;
  let seen = new Set<string>();
  for (;;) {
    const query = {...parameters, until, limit: size, offset};
    const {data, totalCount = data.length, unreachableNodes} = await client.send<HeldMail[]>({path: 'mail/quarantine', query});
    total ??= totalCount;
    yield {mails: data.filter(mail => !seen.has(mailId(mail))), total, unreachableNodes};
    const last = data.at(-1);
    if (!last || data.length < size) return;

    // The mails of that very millisecond come again, as there may be more of them. Should they fill a whole chunk, numbers help.
    const next = justAfter(last.arrived_at);
    offset = next === until ? offset + size : 0;
    seen = new Set([...(next === until ? seen : []), ...data.map(mailId)]);
    until = next;
  }
}

export const justAfter = (timestamp: string): string => new Date(Date.parse(timestamp) + 1).toISOString();
