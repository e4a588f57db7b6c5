// Endpoints of webhooks. Reading them takes the permission to change them: with an address alone one can often write there.
import {z} from 'zod';
import {webhookDeliveriesQuerySchema} from '../../../shared/hold-filter.ts';
import {
  createdWebhookSchema,
  createWebhookSchema,
  replayWebhookSchema,
  webhookDeliverySchema,
  webhookDetailSchema,
  webhookSchema,
  webhookTestSchema,
} from '../../../shared/webhook.ts';
import {reply} from '../answer.ts';
import {idOf} from '../request-input.ts';
import {created, endpoint, gathered, idParameter, ok} from './endpoint.ts';
import {complete, replyGathered} from './gathered-answer.ts';

export const webhookEndpoints = [
  endpoint({
    method: 'get',
    path: '/webhooks',
    permission: 'cluster:write',
    operationId: 'listWebhooks',
    tag: 'Webhooks',
    summary: 'The webhooks, without their secrets',
    answer: () => ok(z.array(webhookSchema)),
    run: async (ctx, {webhooks}) => reply(ctx, await webhooks.list()),
  }),
  endpoint({
    method: 'post',
    path: '/webhooks',
    permission: 'cluster:write',
    operationId: 'createWebhook',
    tag: 'Webhooks',
    summary: 'Add a webhook, to which mail events are sent from now on; the secret is in this answer only',
    body: {schema: createWebhookSchema},
    answer: () => created(createdWebhookSchema),
    failures: [409],
    run: async (ctx, {webhooks}) => reply(ctx, await webhooks.create(ctx.state.actor, ctx.state.body), 'Created'),
  }),
  endpoint({
    method: 'get',
    path: '/webhooks/{id}',
    permission: 'cluster:write',
    operationId: 'getWebhook',
    tag: 'Webhooks',
    summary: 'A webhook, and how far each node has sent what it logged',
    params: idParameter,
    answer: () => gathered(webhookDetailSchema, 'Nodes whose progress is missing here'),
    failures: [404],
    async run(ctx, {webhooks}) {
      const {result, unreachable} = await webhooks.show(ctx.state.actor, idOf(ctx));
      replyGathered(ctx, result, unreachable);
    },
  }),
  endpoint({
    method: 'delete',
    path: '/webhooks/{id}',
    permission: 'cluster:write',
    operationId: 'deleteWebhook',
    tag: 'Webhooks',
    summary: 'Remove a webhook; what was not sent yet is not sent',
    params: idParameter,
    answer: () => ok(z.null()),
    failures: [404],
    async run(ctx, {webhooks}) {
      await webhooks.remove(ctx.state.actor, idOf(ctx));
      reply(ctx, null);
    },
  }),
  endpoint({
    method: 'post',
    path: '/webhooks/{id}/test',
    permission: 'cluster:write',
    operationId: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Send an event of the type test from the answering node, and say what became of it',
    params: idParameter,
    answer: () => ok(webhookTestSchema),
    failures: [404],
    run: async (ctx, {webhooks}) => reply(ctx, await webhooks.test(ctx.state.actor, idOf(ctx))),
  }),
  endpoint({
    method: 'post',
    path: '/webhooks/{id}/replay',
    permission: 'cluster:write',
    operationId: 'replayWebhook',
    tag: 'Webhooks',
    summary: 'Send all events since a time again, with the ids that they had; enables a webhook that was disabled',
    params: idParameter,
    body: {schema: replayWebhookSchema},
    answer: () => ok(webhookSchema),
    failures: [404],
    run: async (ctx, {webhooks}) => reply(ctx, await webhooks.replay(ctx.state.actor, idOf(ctx), ctx.state.body)),
  }),
  endpoint({
    method: 'get',
    path: '/webhooks/{id}/deliveries',
    permission: 'cluster:write',
    operationId: 'listWebhookDeliveries',
    tag: 'Webhooks',
    summary: 'The events that a webhook did not take at first, on all nodes, newest first',
    params: idParameter,
    query: webhookDeliveriesQuerySchema,
    answer: () => gathered(z.array(webhookDeliverySchema), 'Nodes whose deliveries are missing here'),
    failures: [404],
    async run(ctx, {webhooks}, {strict, ...choice}) {
      const {result, unreachable} = complete(await webhooks.deliveries(ctx.state.actor, idOf(ctx), choice), strict);
      replyGathered(ctx, result, unreachable);
    },
  }),
];
