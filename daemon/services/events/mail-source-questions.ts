// Questions to the event log of another node, to follow it.
import {z} from 'zod';
import {discardedEventSchema, heldEventSchema, loggedEventSchema, releasedEventSchema} from '../../../shared/cluster-event.ts';
import {mailEvents} from '../../../shared/mail-event-name.ts';
import {type AskedNode, question} from '../peers/question.ts';
import {type MailSource, pageSize} from './mail-source.ts';
import {placePattern} from './stream-position.ts';

const place = z.string().regex(placePattern);

export const mailSourceQuestions = {
  /** Nodes of earlier versions know no such path. */
  after: question({
    path: 'events/after',
    permission: 'quarantine:read',
    request: z.object({place: place.optional(), types: z.array(z.enum(mailEvents)).max(mailEvents.length)}),
    answer(owner) {
      const ofNode = {node_id: z.literal(owner)};
      const event = z.discriminatedUnion('type', [
        z.object({...heldEventSchema.shape, ...ofNode}),
        z.object({...releasedEventSchema.shape, ...ofNode}),
        z.object({...discardedEventSchema.shape, ...ofNode}),
        z.object({...loggedEventSchema.shape, ...ofNode}),
      ]);
      return z.object({
        events: z.array(z.object({place, event})).max(pageSize),
        ...{place, is_gap: z.boolean(), has_more: z.boolean(), is_waiting: z.boolean()},
      });
    },
    run: async (source: MailSource, asked, actor) => source.after(asked.place, asked.types, actor),
  }),
};

export const remoteMailSource = (node: AskedNode): MailSource => ({
  name: node.nodeId,
  after: async (from, types, actor) =>
    node.ask(mailSourceQuestions.after, {...(from !== undefined && {place: from}), types: [...types]}, actor),
});
