// Events of GET /events, one JSON object each, and its query parameters.
import {z} from 'zod';
import {type EventType, eventTypes} from './event-type.ts';
import {id, nodeId, timestamp} from './fields.ts';
import {healthStates} from './health.ts';
import {actionOutcomeSchema, heldMailSchema} from './held-mail.ts';
import {listOf} from './hold-filter.ts';

const base = {at: timestamp, node_id: nodeId};

/** As in the list. */
export const heldEventSchema = heldMailSchema.extend({...base, type: z.literal('held')}).meta({id: 'HeldEvent'});
/** As in the answer of the action. */
export const releasedEventSchema = actionOutcomeSchema.extend({...base, type: z.literal('released')}).meta({id: 'ReleasedEvent'});
export const discardedEventSchema = actionOutcomeSchema
  .extend({...base, type: z.literal('discarded')})
  .meta({id: 'DiscardedEvent'});

const domainEventSchema = z
  .strictObject({
    ...base,
    type: z.literal('domain'),
    id,
    name: z.string(),
    change: z.enum(['created', 'updated', 'deleted']),
  })
  .meta({id: 'DomainEvent'});
const keyEventSchema = z
  .strictObject({
    ...base,
    type: z.literal('key'),
    id,
    name: z.string(),
    change: z.enum(['created', 'updated', 'revoked', 'deleted']),
  })
  .meta({id: 'KeyEvent'});
/** `node_id` is the node whose health has changed, as the answering node sees it. */
const healthEventSchema = z
  .strictObject({
    ...base,
    type: z.literal('health'),
    from: z.enum(healthStates),
    to: z.enum(healthStates),
  })
  .meta({id: 'HealthEvent'});

export const clusterEventSchema = z
  .discriminatedUnion('type', [
    heldEventSchema,
    releasedEventSchema,
    discardedEventSchema,
    domainEventSchema,
    keyEventSchema,
    healthEventSchema,
  ])
  .meta({id: 'ClusterEvent', description: 'One event, as the `data` of a server-sent event'});
export type ClusterEvent = z.infer<typeof clusterEventSchema>;

export const eventsQuerySchema = z.strictObject({
  type: listOf<EventType>(eventTypes)
    .optional()
    .meta({
      type: 'array',
      items: {type: 'string', enum: [...eventTypes]},
      description: 'Only these types; without it, all that the key may see',
      param: {style: 'form', explode: false},
    }),
});
