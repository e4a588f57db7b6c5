// Endpoints of the event log: what became of mail.
import {z} from 'zod';
import {traceQuerySchema} from '../../../shared/hold-filter.ts';
import {mailEventSchema} from '../../../shared/mail-event.ts';
import {reply} from '../answer.ts';
import {mailOf} from '../request-input.ts';
import {endpoint, header, mailParameters, ok, unreachableNodes} from './endpoint.ts';
import {complete, replyGathered, search} from './gathered-answer.ts';

/** Without a filter as well: all entries are read, as there are no totals of them. */
const always = undefined;

export const traceEndpoints = [
  endpoint({
    method: 'get',
    path: '/mail/trace',
    permission: 'trace:read',
    operationId: 'traceMail',
    tag: 'Trace',
    summary: 'What happened to mail on all nodes, newest first',
    query: traceQuerySchema,
    answer: () =>
      ok(z.array(mailEventSchema), {
        messages: ['OK', 'Partial'],
        headers: {
          ...unreachableNodes('Nodes whose entries are missing here'),
          Link: header('first, and next where there may be more (RFC 8288)'),
        },
      }),
    async run(ctx, {trace, keySearches}, {limit, cursor, strict, ...filter}) {
      const found = await search(ctx, keySearches, always, async actor => trace.find(actor, filter, {limit, cursor}));
      const {result, unreachable} = complete(found, strict);
      const last = result.length === limit ? result.at(-1) : undefined;
      ctx.set('Link', [link(ctx, 'first', undefined), ...(last ? [link(ctx, 'next', last.id)] : [])].join(', '));
      replyGathered(ctx, result, unreachable);
    },
  }),
  endpoint({
    method: 'get',
    path: '/mail/trace/{node_id}/{queue_id}',
    permission: 'trace:read',
    operationId: 'traceOneMail',
    tag: 'Trace',
    summary: 'What happened to one mail, oldest first',
    params: mailParameters,
    answer: () => ok(z.array(mailEventSchema)),
    failures: [404],
    run: async (ctx, {trace, keySearches}) =>
      reply(ctx, await search(ctx, keySearches, always, async actor => trace.show(actor, mailOf(ctx)))),
  }),
];

const link = (ctx: {path: string; querystring: string}, relation: 'first' | 'next', cursor: string | undefined): string => {
  const query = new URLSearchParams(ctx.querystring);
  query.delete('cursor');
  if (cursor !== undefined) query.set('cursor', cursor);
  return `<${ctx.path}?${query}>; rel="${relation}"`;
};
