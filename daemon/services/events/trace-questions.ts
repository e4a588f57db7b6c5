// Questions to the event log of another node.
import {z} from 'zod';
import {Fault} from '../../../shared/fault.ts';
import {nodeId, queueId, timestamp} from '../../../shared/fields.ts';
import type {TraceFilter} from '../../../shared/hold-filter.ts';
import {mailEventSchema} from '../../../shared/mail-event.ts';
import {mailEvents} from '../../../shared/mail-event-name.ts';
import {type AskedNode, question} from '../peers/question.ts';
import {positionOf, type TraceLog} from './trace.ts';

const text = z.string().max(1000);

/** Strict: ignoring a part of it would show the caller too much. */
const filter: z.ZodType<TraceFilter> = z.strictObject({
  recipient: text.optional(),
  sender: text.optional(),
  from: text.optional(),
  address: text.optional(),
  subject: text.optional(),
  message_id: text.optional(),
  client: text.optional(),
  domain: text.optional(),
  node: nodeId.optional(),
  event: z.array(z.enum(mailEvents)).max(mailEvents.length).optional(),
  since: timestamp.optional(),
  until: timestamp.optional(),
  queue_id: queueId.optional(),
});

const position = z.object({number: z.int().min(0), logged_by: nodeId});

export const isIdOf = (owner: string) => (id: string) => {
  try {
    return positionOf(id).logged_by === owner;
  } catch {
    return false;
  }
};

export const traceQuestions = {
  find: question({
    path: 'trace/find',
    permission: 'trace:read',
    request: z.object({filter, page: z.object({limit: z.int().min(1).max(1000), after: position.optional()})}),
    answer: owner =>
      z.object({
        entries: z
          .array(z.object({...mailEventSchema.shape, node_id: z.literal(owner), id: z.string().max(200).refine(isIdOf(owner))}))
          .max(1000),
      }),
    run: async (log: TraceLog, {filter, page: {limit, after}}, actor) => ({
      entries: await log.find(filter, {limit, after}, actor),
    }),
  }),
};

export const remoteTraceLog = (node: AskedNode): TraceLog => ({
  nodeId: node.nodeId,
  async find(asked, page, actor) {
    try {
      return (await node.ask(traceQuestions.find, {filter: asked, page}, actor)).entries;
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'not_found') throw error;
      // Not found is the path: a log answers with the entries that there are.
      throw new Fault('node_unreachable', `node ${node.nodeId} runs a version without an event log; update it first`, {
        cause: error,
      });
    }
  },
});
