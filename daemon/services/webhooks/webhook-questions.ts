// Questions to another node about what it sent to webhooks.
import {z} from 'zod';
import {id} from '../../../shared/fields.ts';
import {deliveryStates, webhookDeliverySchema, webhookProgressSchema} from '../../../shared/webhook.ts';
import {isIdOf} from '../events/trace-questions.ts';
import {type AskedNode, question} from '../peers/question.ts';
import type {WebhookLog} from './webhooks.ts';

/** Strict: ignoring a part of a request would show the caller too much. */
export const webhookQuestions = {
  progress: question({
    path: 'webhooks/progress',
    permission: 'cluster:write',
    request: z.strictObject({webhook_id: id}),
    answer: owner => z.array(z.object({...webhookProgressSchema.shape, node_id: z.literal(owner)})).max(1),
    run: async (log: WebhookLog, {webhook_id}, actor) => log.progress(webhook_id, actor),
  }),
  deliveries: question({
    path: 'webhooks/deliveries',
    permission: 'cluster:write',
    request: z.strictObject({webhook_id: id, state: z.enum(deliveryStates).optional(), limit: z.int().min(1).max(1000)}),
    answer(owner) {
      const event_id = webhookDeliverySchema.shape.event_id.refine(isIdOf(owner));
      return z.array(z.object({...webhookDeliverySchema.shape, node_id: z.literal(owner), event_id})).max(1000);
    },
    run: async (log: WebhookLog, {webhook_id, ...choice}, actor) => log.deliveries(webhook_id, choice, actor),
  }),
};

export const remoteWebhookLog = ({nodeId, ask}: AskedNode): WebhookLog => ({
  nodeId,
  progress: async (webhook_id, actor) => ask(webhookQuestions.progress, {webhook_id}, actor),
  deliveries: async (webhook_id, choice, actor) => ask(webhookQuestions.deliveries, {webhook_id, ...choice}, actor),
});
