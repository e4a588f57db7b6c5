// What nodes ask each other for people: their hold queues, their audit logs, and what happens to held mail. Members that are not
// known here are left out, as a node of a newer version says more; but for whom it asks and by which filters has to be understood
// whole: what is left out there would let more be seen.
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
import {reasons} from '../../../shared/reason.ts';
import {type AccessScope, scopes} from '../../../shared/scopes.ts';
import type {Actor, AuditFilter} from '../ports.ts';

const count = z.int().min(0);
const text = z.string().max(1000);

/** For whom the other node asks. */
export const relayedActorSchema = z.strictObject({
  key_id: id,
  scope: z.enum(scopes),
  reach: z
    .discriminatedUnion('kind', [
      z.strictObject({kind: z.literal('all')}),
      z.strictObject({kind: z.literal('domain'), domain_id: id}),
      z.strictObject({kind: z.literal('none')}),
    ])
    .transform((reach): AccessScope => (reach.kind === 'domain' ? {kind: 'domain', domainId: reach.domain_id} : reach)),
  remote_address: z.string().max(100).nullable(),
});
export type RelayedActor = z.output<typeof relayedActorSchema>;
const actor = relayedActorSchema;

export const actorToRelay = ({keyId, scope, reach, remoteAddress}: Actor): z.input<typeof relayedActorSchema> => {
  if (keyId === null) throw new Error('a node asks others for its callers only, and they have keys');
  const relayed = reach.kind === 'domain' ? ({kind: 'domain', domain_id: reach.domainId} as const) : reach;
  return {key_id: keyId, scope, reach: relayed, remote_address: remoteAddress};
};

/** Filters as they are once a query string has been understood. */
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

/** More mails than any node holds; with a `limit` times that, SQLite would have a number that is no integer to it. */
const position = z.int().min(0).max(1e11);

/** A whole page and what lies before it, see `readMerged`. */
const page = {limit: z.int().min(1).max(100_000), offset: position};
const steps = {offset: position, stride: position.min(1), limit: z.int().min(1).max(10_000)};

const holdCursorSchema = z.object({arrived_at: timestamp, node_id: nodeId, queue_id: queueId});
const auditCursorSchema = z.object({at: timestamp, node_id: nodeId, seq: z.int()});

/** What is asked of one part of a merged list. */
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

/** What the hold queue of one node answers: it speaks of its own mail only. */
export const holdAnswersOf = (owner: string) => {
  const own = {node_id: z.literal(owner)};
  return {
    list: z.object({mails: z.array(z.object({...heldMailSchema.shape, ...own})), total: count}),
    marks: z.object({marks: z.array(holdCursorSchema.extend(own)), total: count}),
    summary: z.object({...summarySchema.shape, groups: z.array(z.object({...summaryGroupSchema.shape, ...own}))}),
    mail: z.object({...heldMailDetailSchema.shape, symbol_scores: z.array(z.object(symbolSchema.shape)), ...own}),
    outcome: z.object({...actionOutcomeSchema.shape, ...own}),
  };
};

/** The same of its audit log. */
export const auditAnswersOf = (owner: string) => {
  const own = {node_id: z.literal(owner)};
  return {
    list: z.object({entries: z.array(z.object({...auditEntrySchema.shape, ...own})), total: count}),
    marks: z.object({marks: z.array(auditCursorSchema.extend(own)), total: count}),
  };
};

/** GET /hold-events: one of these per line, and empty lines so that silence means something. */
export const holdEventSchema = z.object({
  id: z.string().max(200),
  /** Whose mail it is. */
  domain_id: id,
  event: z.discriminatedUnion('type', [
    z.object(heldEventSchema.shape),
    z.object(releasedEventSchema.shape),
    z.object(discardedEventSchema.shape),
  ]),
});
