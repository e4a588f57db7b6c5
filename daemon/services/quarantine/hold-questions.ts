// Questions to the hold queue of another node, and the events of held mail that it sends.

import {z} from 'zod';
import {discardedEventSchema, heldEventSchema, releasedEventSchema} from '../../../shared/cluster-event.ts';
import {id, nodeId, queueId, timestamp} from '../../../shared/fields.ts';
import {
  actionOutcomeSchema,
  actRequestSchema,
  heldMailDetailSchema,
  heldMailSchema,
  holdActions,
  summaryGroupSchema,
  summarySchema,
  symbolSchema,
  trainingOutcomeSchema,
  trainRequestSchema,
} from '../../../shared/held-mail.ts';
import type {HoldFilter} from '../../../shared/hold-filter.ts';
import {mailAuthenticationSchema} from '../../../shared/mail-authentication.ts';
import {reasons} from '../../../shared/reason.ts';
import {listQuestions, question} from '../peers/question.ts';
import type {HoldQueue} from './stored-mail.ts';

const text = z.string().max(1000);

/** Strict: ignoring a part of it would show the caller too much. */
const filter: z.ZodType<HoldFilter> = z.strictObject({
  domain: text.optional(),
  sender: text.optional(),
  from: text.optional(),
  address: text.optional(),
  recipient: text.optional(),
  subject: text.optional(),
  since: timestamp.optional(),
  until: timestamp.optional(),
  min_score: z.number().optional(),
  max_score: z.number().optional(),
  reason: z.enum(reasons).optional(),
  node: nodeId.optional(),
  requested: z.literal(true).optional(),
});

const cursor = z.object({arrived_at: timestamp, node_id: nodeId, queue_id: queueId});
const read = {permission: 'quarantine:read'} as const;
const ofNode = (owner: string) => ({node_id: z.literal(owner)});

/** Nodes of earlier versions do not read the header From, and have no requests. */
const known = {
  from: heldMailSchema.shape.from.default(null),
  release_requested: heldMailSchema.shape.release_requested.default(false),
};

export const holdListQuestions = listQuestions({
  ...{name: 'hold', ...read, filter, cursor},
  answer: owner =>
    z.object({mails: z.array(z.object({...heldMailSchema.shape, ...known, ...ofNode(owner)})), total: z.int().min(0)}),
  cursorOf: owner => cursor.extend(ofNode(owner)),
});

export const holdQuestions = {
  summary: question({
    ...{path: 'hold/summary', ...read, request: z.object({filter})},
    answer(owner) {
      const groups = z.array(z.object({...summaryGroupSchema.shape, ...ofNode(owner)}));
      return z.object({...summarySchema.shape, groups});
    },
    run: async (queue: HoldQueue, asked, actor) => queue.summary(asked.filter, actor),
  }),
  get: question({
    ...{path: 'hold/get', ...read, request: z.object({queue_id: queueId})},
    answer: owner =>
      z.object({
        ...heldMailDetailSchema.shape,
        ...known,
        symbol_scores: z.array(z.object(symbolSchema.shape)),
        // Nodes of earlier versions verify nothing.
        authentication: mailAuthenticationSchema.nullable().default(null),
        ...ofNode(owner),
      }),
    run: async (queue: HoldQueue, {queue_id}, actor) => queue.get(queue_id, actor),
  }),
  act: question({
    path: 'hold/act',
    permission: 'quarantine:act',
    request: z.object({queue_id: queueId, action: z.enum(holdActions)}),
    answer: owner => z.object({...actionOutcomeSchema.shape, ...ofNode(owner)}),
    run: async (queue: HoldQueue, {queue_id, action}, actor) => queue.act(action, queue_id, actor),
  }),
  /** A path of its own: nodes of earlier versions would leave the recipients out, and act for all. They know no such path. */
  actForSome: question({
    path: 'hold/act-for-some',
    permission: 'quarantine:act',
    request: z.object({queue_id: queueId, action: z.enum(holdActions), recipients: actRequestSchema.shape.recipients.unwrap()}),
    answer: owner => z.object({...actionOutcomeSchema.shape, ...ofNode(owner)}),
    run: async (queue: HoldQueue, {queue_id, action, recipients}, actor) => queue.act(action, queue_id, actor, recipients),
  }),
  /** Nodes of earlier versions know no such path. */
  train: question({
    path: 'hold/train',
    permission: 'cluster:write',
    request: z.object({queue_id: queueId, ...trainRequestSchema.shape}),
    answer: owner => z.object({...trainingOutcomeSchema.shape, ...ofNode(owner)}),
    run: async (queue: HoldQueue, {queue_id, as}, actor) => queue.train(as, queue_id, actor),
  }),
};

/** Its answer is the mail itself, as a stream. */
export const bodyQuestion = {path: 'hold/body', ...read, request: z.object({queue_id: queueId})};

/** GET /hold-events: one event per line. Empty lines are sent regularly, so that the receiver notices a broken connection. */
export const holdEventSchema = z.object({
  id: z.string().max(200),
  /** The domain that owns the mail. */
  domain_id: id,
  /** Nodes of earlier versions have no log. */
  is_logged: z.boolean().default(false),
  event: z.discriminatedUnion('type', [
    z.object({...heldEventSchema.shape, ...known}),
    z.object(releasedEventSchema.shape),
    z.object(discardedEventSchema.shape),
  ]),
});
