// All held mail that matches, however much that is.
import type {HeldMail} from '../../shared/held-mail.ts';
import type {Client, Request} from '../api/client.ts';

export type MailQuery = NonNullable<Request['query']>;

export interface HeldMailPage {
  /** Newest first; none of them was in a page before. */
  mails: HeldMail[];
  /** Of all pages, when this one was asked for. */
  totalCount: number | undefined;
  /** Their mail is missing. */
  unreachableNodes: string[];
}

/** The most that one request may ask for. */
export const maxPageSize = 1000;

/**
 * One page after the other, as they stood when the first was asked for: each next page begins where the one before has ended
 * in time. Counting from the top would pass over mail whenever somebody acts on what was there, and repeat it when more arrives.
 */
export async function* heldMailPages(
  client: Pick<Client, 'send'>,
  query: MailQuery,
  signal: AbortSignal,
): AsyncGenerator<HeldMailPage, void, undefined> {
  const seen = new Set<string>();
  let {until} = query;
  let offset = 0;
  for (;;) {
    const asked = {...query, until, limit: maxPageSize, offset: offset || undefined};
    const {data, totalCount, unreachableNodes} = await client.send<HeldMail[]>({path: 'mail/quarantine', query: asked, signal});
    const mails = data.filter(({node_id, queue_id}) => !seen.has(`${node_id}/${queue_id}`));
    for (const {node_id, queue_id} of mails) seen.add(`${node_id}/${queue_id}`);
    yield {mails, totalCount, unreachableNodes};
    if (data.length < maxPageSize) return;

    // `until` leaves out its own millisecond, in which there may be more.
    const next = justAfter(data.at(-1)?.arrived_at);
    offset = next === undefined || next === until ? offset + maxPageSize : 0;
    until = next ?? until;
  }
}

const justAfter = (timestamp: string | undefined): string | undefined => {
  const ms = Date.parse(timestamp ?? '');
  return Number.isNaN(ms) ? undefined : new Date(ms + 1).toISOString();
};
