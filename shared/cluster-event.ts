// Events of GET /events, one JSON object each, and its query parameters.
import {z} from 'zod';
import {loggedTypes, type StreamType, streamTypes} from './event-type.ts';
import {id, nodeId, timestamp} from './fields.ts';
import {healthStates} from './health.ts';
import {actionOutcomeSchema, heldMailSchema} from './held-mail.ts';
import {listOf} from './hold-filter.ts';
import {mailEventSchema} from './mail-event.ts';

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

const clusterEventSchema = z.discriminatedUnion('type', [
  heldEventSchema,
  releasedEventSchema,
  discardedEventSchema,
  domainEventSchema,
  keyEventSchema,
  healthEventSchema,
]);
/** One that comes without being asked for by name. */
export type ClusterEvent = z.infer<typeof clusterEventSchema>;

/** As in the trace. */
export const loggedEventSchema = mailEventSchema.extend({type: z.enum(loggedTypes)}).meta({id: 'LoggedEvent'});

const gapEventSchema = z.strictObject({...base, type: z.literal('gap')}).meta({
  id: 'GapEvent',
  description: 'Events of mail of this node may be missing before this: the id to go on from is none of its log, or is too old',
});

/** What a stream may have. */
export const streamEventSchema = z
  .discriminatedUnion('type', [...clusterEventSchema.options, loggedEventSchema, gapEventSchema])
  .meta({
    id: 'ClusterEvent',
    description: 'One event, as the `data` of a server-sent event',
  });
export type StreamEvent = z.infer<typeof streamEventSchema>;

export const eventsQuerySchema = z.strictObject({
  type: listOf<StreamType>(streamTypes)
    .optional()
    .meta({
      type: 'array',
      items: {type: 'string', enum: [...streamTypes]},
      description: 'Only these types; without it, all of the first six that the key may see',
      param: {style: 'form', explode: false},
    }),
  after: z.string().optional().meta({
    description:
      'The id of an event, or a time (ISO 8601): first sends the events of mail after it that the log still has. The header Last-Event-ID counts before it',
  }),
});
