// Searches, and answers gathered from many nodes, some of which may be missing.
import {Fault} from '../../../shared/fault.ts';
import type {HoldFilter, Page} from '../../../shared/hold-filter.ts';
import type {Gathered} from '../../services/peers/gather.ts';
import type {KeySearches} from '../../services/search-limits.ts';
import {nameUnreachable, reply} from '../answer.ts';
import type {Ctx, RequestState} from '../observe.ts';

type Caller = RequestState['actor'];

/** Counts among the searches of the key; one that still waits when its client has gone is never run. */
export const search = async <T>(
  ctx: Ctx,
  searches: KeySearches,
  filter: HoldFilter | undefined,
  find: (caller: Caller) => Promise<T>,
) => {
  const {actor} = ctx.state;
  return searches.run({keyId: actor.keyId, filter, gone: goneOf(ctx)}, async () => find(actor));
};

/** Aborts when the connection of a request closes. */
const goneOf = ({res}: Pick<Ctx, 'res'>): AbortSignal => {
  const gone = new AbortController();
  if (res.closed) gone.abort();
  res.once('close', () => gone.abort());
  return gone.signal;
};

/** Returns the gathered data; throws if it has to be complete and is not. */
export const complete = <T>(gathered: Gathered<T>, isStrict: boolean): Gathered<T> => {
  if (isStrict && gathered.unreachable.length > 0)
    throw new Fault(
      'node_unreachable',
      `no answer from ${gathered.unreachable.join(', ')}; without strict=true the others' mail is listed`,
      {retryAfterSeconds: 5},
    );
  return gathered;
};

export const replyGathered = (ctx: Ctx, data: unknown, unreachable: string[]): void => {
  nameUnreachable(ctx, unreachable);
  reply(ctx, data, unreachable.length > 0 ? 'Partial' : 'OK');
};

/** A page of a list of `total` entries. */
export const replyPage = (ctx: Ctx, page: Page, {total, entries, unreachable}: GatheredPage): void => {
  setPaging(ctx, page, total);
  replyGathered(ctx, entries, unreachable);
};

interface GatheredPage {
  total: number;
  entries: readonly unknown[];
  unreachable: string[];
}

/** Sets X-Total-Count and Link (RFC 8288); the links keep the filters of the request. */
const setPaging = (ctx: Ctx, {limit, offset}: Page, total: number): void => {
  const link = (relation: string, to: number) => {
    const query = new URLSearchParams(ctx.querystring);
    query.set('limit', String(limit));
    query.set('offset', String(to));
    return `<${ctx.path}?${query}>; rel="${relation}"`;
  };
  const links = [link('first', 0)];
  if (offset > 0) links.push(link('prev', Math.max(0, offset - limit)));
  if (offset + limit < total) links.push(link('next', offset + limit));
  ctx.set({'X-Total-Count': String(total), Link: links.join(', ')});
};
