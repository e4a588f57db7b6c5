// What GET /events tells, one JSON object each.
import {z} from 'zod';
import {id, nodeId, timestamp} from './fields.ts';
import {healthStates} from './health.ts';
import {actionOutcomeSchema, heldMailSchema} from './held-mail.ts';

const base = {at: timestamp, node_id: nodeId};

/** The entry of the list. */
export const heldEventSchema = heldMailSchema.extend({...base, type: z.literal('held')});
/** What the action answered. */
export const releasedEventSchema = actionOutcomeSchema.extend({...base, type: z.literal('released')});
export const discardedEventSchema = actionOutcomeSchema.extend({...base, type: z.literal('discarded')});

export const domainEventSchema = z.strictObject({
  ...base,
  type: z.literal('domain'),
  id,
  name: z.string(),
  change: z.enum(['created', 'updated', 'deleted']),
});
export const keyEventSchema = z.strictObject({
  ...base,
  type: z.literal('key'),
  id,
  name: z.string(),
  change: z.enum(['created', 'updated', 'revoked', 'deleted']),
});
/** `node_id` is the node whose health has changed, as the answering node sees it. */
export const healthEventSchema = z.strictObject({
  ...base,
  type: z.literal('health'),
  from: z.enum(healthStates),
  to: z.enum(healthStates),
});

export const clusterEventSchema = z.discriminatedUnion('type', [
  heldEventSchema,
  releasedEventSchema,
  discardedEventSchema,
  domainEventSchema,
  keyEventSchema,
  healthEventSchema,
]);
export type ClusterEvent = z.infer<typeof clusterEventSchema>;
