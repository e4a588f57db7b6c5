// Messages between nodes about held mail, audit logs and events, sent on behalf of API callers. Unknown members are ignored, as a newer
// version may send more. Only the actor and the filters are strict: ignoring a part of them would show the caller too much.

import {z} from 'zod';
import {auditEntrySchema} from '../../../shared/audit-entry.ts';
import {discardedEventSchema, heldEventSchema, releasedEventSchema} from '../../../shared/cluster-event.ts';
import {id, nodeId, queueId, timestamp} from '../../../shared/fields.ts';
import {
  actionOutcomeSchema,
  heldMailDetailSchema,
  heldMailSchema,
  holdActions,
  summaryGroupSchema,
  summarySchema,
  symbolSchema,
} from '../../../shared/held-mail.ts';
import type {HoldFilter} from '../../../shared/hold-filter.ts';
import {mailAuthenticationSchema} from '../../../shared/mail-authentication.ts';
import {reasons} from '../../../shared/reason.ts';
import {relayedActorSchema} from '../actor.ts';
import type {AuditFilter} from '../ports.ts';

const count = z.int().min(0);
const text = z.string().max(1000);

const actor = relayedActorSchema;

/** Filters, as parsed from a query string. */
const filter: z.ZodType<HoldFilter> = z.strictObject({
  domain: text.optional(),
  sender: text.optional(),
  recipient: text.optional(),
  subject: text.optional(),
  since: timestamp.optional(),
  until: timestamp.optional(),
  min_score: z.number().optional(),
  max_score: z.number().optional(),
  reason: z.enum(reasons).optional(),
  node: nodeId.optional(),
});

const auditFilter: z.ZodType<AuditFilter> = z.strictObject({
  since: timestamp.optional(),
  key_id: id.optional(),
  action: text.optional(),
});

/** More mails than any node holds. Times `limit`, a much larger number would no longer be an integer for SQLite. */
const position = z.int().min(0).max(1e11);

/** A page together with the entries before it, see `readMerged`. */
const page = {limit: z.int().min(1).max(100_000), offset: position};
const steps = {offset: position, stride: position.min(1), limit: z.int().min(1).max(10_000)};

const holdCursorSchema = z.object({arrived_at: timestamp, node_id: nodeId, queue_id: queueId});
const auditCursorSchema = z.object({at: timestamp, node_id: nodeId, seq: z.int()});

/** Requests to one part of a merged list. */
const partRequests = <F extends z.ZodType, C extends z.ZodType>(partFilter: F, cursor: C) => ({
  list: z.object({actor, filter: partFilter, page: z.object(page)}),
  marks: z.object({actor, filter: partFilter, steps: z.object(steps)}),
  rank: z.object({actor, filter: partFilter, place: cursor}),
});

export const holdRequests = partRequests(filter, holdCursorSchema);
export const auditRequests = partRequests(auditFilter, auditCursorSchema);

export const holdSummaryRequest = z.object({actor, filter});
export const heldMailRequest = z.object({actor, queue_id: queueId});
export const holdActRequest = z.object({actor, queue_id: queueId, action: z.enum(holdActions)});

export const positionAnswer = z.object({rank: count});

/** Answers of the hold queue of node `owner`; all mail in them must be its own. */
export const holdAnswersOf = (owner: string) => {
  const own = {node_id: z.literal(owner)};
  return {
    list: z.object({mails: z.array(z.object({...heldMailSchema.shape, ...own})), total: count}),
    marks: z.object({marks: z.array(holdCursorSchema.extend(own)), total: count}),
    summary: z.object({...summarySchema.shape, groups: z.array(z.object({...summaryGroupSchema.shape, ...own}))}),
    mail: z.object({
      ...heldMailDetailSchema.shape,
      symbol_scores: z.array(z.object(symbolSchema.shape)),
      // Nodes of earlier versions verify nothing.
      authentication: mailAuthenticationSchema.nullable().default(null),
      ...own,
    }),
    outcome: z.object({...actionOutcomeSchema.shape, ...own}),
  };
};

/** Answers of the audit log of node `owner`; all entries in them must be its own. */
export const auditAnswersOf = (owner: string) => {
  const own = {node_id: z.literal(owner)};
  return {
    list: z.object({entries: z.array(z.object({...auditEntrySchema.shape, ...own})), total: count}),
    marks: z.object({marks: z.array(auditCursorSchema.extend(own)), total: count}),
  };
};

/** GET /hold-events: one event per line. Empty lines are sent regularly, so that the receiver notices a broken connection. */
export const holdEventSchema = z.object({
  id: z.string().max(200),
  /** The domain that owns the mail. */
  domain_id: id,
  event: z.discriminatedUnion('type', [
    z.object(heldEventSchema.shape),
    z.object(releasedEventSchema.shape),
    z.object(discardedEventSchema.shape),
  ]),
});
