import {z} from 'zod';
import {
  actionOutcomeSchema,
  actRequestSchema,
  bulkFailureSchema,
  bulkRequestSchema,
  type HoldAction,
  heldMailDetailSchema,
  heldMailSchema,
  summarySchema,
  trainingOutcomeSchema,
  trainRequestSchema,
} from '../../../shared/held-mail.ts';
import {holdListQuerySchema, holdSummaryQuerySchema} from '../../../shared/hold-filter.ts';
import {validate} from '../../services/validate.ts';
import {reply} from '../answer.ts';
import {mailOf} from '../request-input.ts';
import {endpoint, gathered, gatheredPage, header, mailParameters, ok} from './endpoint.ts';
import {complete, replyGathered, replyPage, search} from './gathered-answer.ts';

const actionOf = (action: HoldAction, does: string) =>
  endpoint({
    method: 'post',
    path: `/mail/quarantine/{node_id}/{queue_id}/${action}`,
    permission: 'quarantine:act',
    operationId: `${action}Mail`,
    tag: 'Quarantine',
    summary: `${does}; repeating the request is safe`,
    params: mailParameters,
    body: {schema: actRequestSchema, isOptional: true, isBulk: true},
    answer: () => ok(actionOutcomeSchema),
    failures: [404, 409, ...(action === 'release' ? ([502] as const) : []), 504],
    async run(ctx, {quarantine}) {
      const wanted = validate(actRequestSchema, ctx.state.body);
      reply(ctx, await quarantine.act(ctx.state.actor, action, {...mailOf(ctx), ...wanted}));
    },
  });

const bulkActionOf = (action: HoldAction) =>
  endpoint({
    method: 'post',
    path: `/mail/quarantine/${action}`,
    permission: 'quarantine:act',
    operationId: `${action}Mails`,
    tag: 'Quarantine',
    summary: `The action ${action} on up to 1000 mails; the answer has an entry for each, in the same order`,
    body: {schema: bulkRequestSchema, isBulk: true},
    answer: () => ok(z.array(z.union([actionOutcomeSchema, bulkFailureSchema]))),
    async run(ctx, {quarantine}) {
      const {items} = validate(bulkRequestSchema, ctx.state.body);
      reply(ctx, await quarantine.actOnAll(ctx.state.actor, action, items));
    },
  });

export const quarantineEndpoints = [
  endpoint({
    method: 'get',
    path: '/mail/quarantine',
    permission: 'quarantine:read',
    operationId: 'listQuarantine',
    tag: 'Quarantine',
    summary: 'Held mail of all nodes, newest first',
    isCurated: true,
    query: holdListQuerySchema,
    answer: () => gatheredPage(heldMailSchema, {total: 'All matches', missing: 'Nodes whose mail is missing here'}),
    async run(ctx, {quarantine, keySearches}, {limit, offset, strict, ...filter}) {
      const found = await search(ctx, keySearches, filter, async actor => quarantine.list(actor, filter, {limit, offset}));
      const {result, unreachable} = complete(found, strict);
      replyPage(ctx, {limit, offset}, {total: result.total, entries: result.mails, unreachable});
    },
  }),
  endpoint({
    method: 'get',
    path: '/mail/quarantine/summary',
    permission: 'quarantine:read',
    operationId: 'summarizeQuarantine',
    tag: 'Quarantine',
    summary: 'Counts of held mail by domain, reason and node',
    query: holdSummaryQuerySchema,
    answer: () => gathered(summarySchema, 'Nodes whose mail is not counted here'),
    async run(ctx, {quarantine, keySearches}, {strict, ...filter}) {
      const found = await search(ctx, keySearches, filter, async actor => quarantine.summary(actor, filter));
      const {result, unreachable} = complete(found, strict);
      replyGathered(ctx, result, unreachable);
    },
  }),
  endpoint({
    method: 'get',
    path: '/mail/quarantine/{node_id}/{queue_id}',
    permission: 'quarantine:read',
    operationId: 'getMail',
    tag: 'Quarantine',
    summary: 'One held mail, with the score of each symbol',
    params: mailParameters,
    answer: () => ok(heldMailDetailSchema),
    failures: [404],
    run: async (ctx, {quarantine}) => reply(ctx, await quarantine.get(ctx.state.actor, mailOf(ctx))),
  }),
  endpoint({
    method: 'get',
    path: '/mail/quarantine/{node_id}/{queue_id}/body',
    permission: 'quarantine:read',
    operationId: 'getMailBody',
    tag: 'Quarantine',
    summary: 'The raw mail as it was received',
    params: mailParameters,
    answer: () => ({
      status: 200,
      content: {'text/rfc822': {schema: {type: 'string', format: 'binary'}}},
      headers: {
        'Content-Disposition': header('A file name, made of the queue id'),
        'Content-Security-Policy': header('Keeps browsers from running what is in the mail'),
      },
    }),
    failures: [404],
    async run(ctx, {quarantine}) {
      const mail = mailOf(ctx);
      const {sizeBytes, stream} = await quarantine.body(ctx.state.actor, mail);
      ctx.status = 200;
      ctx.body = stream;
      ctx.set({
        'Content-Type': 'text/rfc822',
        'Content-Length': String(sizeBytes),
        'Content-Disposition': `attachment; filename="${mail.queue_id}.eml"`,
        'Content-Security-Policy': "default-src 'none'; sandbox",
      });
    },
  }),
  actionOf('release', 'Deliver a held mail'),
  actionOf('discard', 'Remove a held mail without delivery'),
  endpoint({
    method: 'post',
    path: '/mail/quarantine/{node_id}/{queue_id}/train',
    // What the scanner learns counts for the mail of all domains.
    permission: 'cluster:write',
    operationId: 'trainMail',
    tag: 'Quarantine',
    summary: 'Let the scanner learn a held mail as ham or spam; the mail stays held, and repeating the request is safe',
    params: mailParameters,
    body: {schema: trainRequestSchema},
    answer: () => ok(trainingOutcomeSchema),
    failures: [404, 409, 504],
    async run(ctx, {quarantine}) {
      const {as} = validate(trainRequestSchema, ctx.state.body);
      reply(ctx, await quarantine.train(ctx.state.actor, as, mailOf(ctx)));
    },
  }),
  bulkActionOf('release'),
  bulkActionOf('discard'),
];
