// Messages between nodes about digests, to a node from the one that sends them.
import {z} from 'zod';
import {digestActions, digestLanguages} from '../../../shared/digest-rules.ts';
import {id, timestamp} from '../../../shared/fields.ts';
import {reasons} from '../../../shared/reason.ts';
import {post} from '../cluster/peer-protocol.ts';
import {mailboxesAtOnce, mailsOfNode} from './digest-model.ts';
import {authorsOfMail, linkActions} from './link-owner.ts';

const text = z.string().max(1000);
const round = {domain_id: id, due_at: timestamp};
const mailboxes = z.array(text).max(1000);

const digestId = z.string().regex(/^[\w-]{1,40}$/);

const mail = z.object({
  ...{mailbox: text, address: text, action: z.enum(digestActions), token: z.string().regex(/^[\w-]{1,30}$/), digest_id: digestId},
  ...{sender: text, from: z.array(text).max(1).nullable(), subject: text, reason: z.enum(reasons)},
  ...{arrived_at: timestamp, others: z.int().min(0)},
});

const hash = z.string().regex(/^[0-9a-f]{64}$/);

/** What a link leads to, on the node that has the mail. */
const view = z
  .object({
    ...{sender: text, from: z.array(text).max(authorsOfMail).nullable(), subject: text, reason: z.enum(reasons)},
    ...{size_bytes: z.int().min(0), arrived_at: timestamp, address: text},
    state: z.enum(['held', 'outdated', 'released', 'discarded', 'expired', 'lost', 'gone']),
    ...{
      ended_at: timestamp.nullable(),
      action: z.enum(digestActions),
      requested_at: timestamp.nullable(),
      language: z.enum(digestLanguages),
      timezone: text,
    },
  })
  .nullable();

export const linkMessages = {
  view: post('recipients/view', z.object({hash}), view),
  act: post(
    'recipients/act',
    z.object({hash, action: z.enum(linkActions), remote_address: z.string().max(100).nullable()}),
    view,
  ),
};

const states = ['taken', 'elsewhere', 'over'] as const;
const settlement = z.object({
  mailbox: text,
  digest_id: digestId,
  state: z.enum(['sent', 'resent', 'later', 'unsent', 'apart']),
});
const asked = z.object({mailbox: text, id: digestId});
const ids = z.array(digestId).max(100_000);

export const digestMessages = {
  open: post('recipients/open', z.object(round), z.enum([...states, 'listing'])),
  keep: post('recipients/keep', z.object(round), z.enum(states)),
  waiting: post('recipients/waiting', z.object({...round, after: text, limit: z.int().min(1).max(1000)}), mailboxes),
  digests: post(
    'recipients/digests',
    z.object({...round, asked: z.array(asked).max(1000)}),
    z.array(mail).max(mailsOfNode * mailboxesAtOnce),
  ),
  preview: post('recipients/preview', z.object({...round, mailbox: text}), z.array(mail).max(mailsOfNode)),
  settle: post(
    'recipients/settle',
    z.object({...round, settlements: z.array(settlement).max(100_000), served: mailboxes}),
    z.null(),
  ),
  resentAmong: post('recipients/resent-among', z.object({...round, ids}), ids),
  close: post('recipients/close', z.object(round), z.null()),
};
