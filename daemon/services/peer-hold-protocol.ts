// What nodes ask each other for people: their hold queues, their audit logs, and what happens to held mail.
import {z} from 'zod';
import {auditEntrySchema} from '../../shared/audit-entry.ts';
import {discardedEventSchema, heldEventSchema, releasedEventSchema} from '../../shared/cluster-event.ts';
import {id, nodeId, queueId, timestamp} from '../../shared/fields.ts';
import {
  actionOutcomeSchema,
  heldMailDetailSchema,
  heldMailSchema,
  holdActions,
  reasons,
  summaryGroupSchema,
  summarySchema,
} from '../../shared/held-mail.ts';
import type {HoldFilter} from '../../shared/hold-filter.ts';
import {type Reach, scopes} from '../../shared/scopes.ts';
import type {Actor, AuditFilter} from './ports.ts';

const count = z.int().min(0);
const text = z.string().max(1000);

/** For whom the other node asks. */
export const toldActorSchema = z.strictObject({
  key_id: id,
  scope: z.enum(scopes),
  reach: z
    .discriminatedUnion('kind', [
      z.strictObject({kind: z.literal('all')}),
      z.strictObject({kind: z.literal('domain'), domain_id: id}),
      z.strictObject({kind: z.literal('none')}),
    ])
    .transform((reach): Reach => (reach.kind === 'domain' ? {kind: 'domain', domainId: reach.domain_id} : reach)),
  remote_address: z.string().max(100).nullable(),
});
export type ToldActor = z.output<typeof toldActorSchema>;
const actor = toldActorSchema;

export const actorToTell = ({keyId, scope, reach, remoteAddress}: Actor): z.input<typeof toldActorSchema> => {
  if (keyId === null) throw new Error('a node asks others for its callers only, and they have keys');
  const told = reach.kind === 'domain' ? ({kind: 'domain', domain_id: reach.domainId} as const) : reach;
  return {key_id: keyId, scope, reach: told, remote_address: remoteAddress};
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

/** A whole page and what lies before it, see `readMerged`. */
const page = {limit: z.int().min(1).max(100_000), offset: count};
const steps = {offset: count, stride: z.int().min(1), limit: z.int().min(1).max(10_000)};

export const holdPlaceSchema = z.strictObject({arrived_at: timestamp, node_id: nodeId, queue_id: queueId});
export const auditPlaceSchema = z.strictObject({at: timestamp, node_id: nodeId, seq: z.int()});

export const holdListRequest = z.strictObject({actor, filter, page: z.strictObject(page)});
export const holdMarksRequest = z.strictObject({actor, filter, steps: z.strictObject(steps)});
export const holdRankRequest = z.strictObject({actor, filter, place: holdPlaceSchema});
export const holdSummaryRequest = z.strictObject({actor, filter});
export const heldMailRequest = z.strictObject({actor, queue_id: queueId});
export const holdActRequest = z.strictObject({actor, queue_id: queueId, action: z.enum(holdActions)});

export const auditListRequest = z.strictObject({actor, filter: auditFilter, page: z.strictObject(page)});
export const auditMarksRequest = z.strictObject({actor, filter: auditFilter, steps: z.strictObject(steps)});
export const auditRankRequest = z.strictObject({actor, filter: auditFilter, place: auditPlaceSchema});

export const rankAnswer = z.strictObject({rank: count});

/** What the hold queue of one node answers: it speaks of its own mail only. */
export const holdAnswersOf = (owner: string) => {
  const own = {node_id: z.literal(owner)};
  return {
    list: z.strictObject({mails: z.array(heldMailSchema.extend(own)), total: count}),
    marks: z.strictObject({marks: z.array(holdPlaceSchema.extend(own)), total: count}),
    summary: summarySchema.extend({groups: z.array(summaryGroupSchema.extend(own))}),
    mail: heldMailDetailSchema.extend(own),
    outcome: actionOutcomeSchema.extend(own),
  };
};

/** The same of its audit log. */
export const auditAnswersOf = (owner: string) => {
  const own = {node_id: z.literal(owner)};
  return {
    list: z.strictObject({entries: z.array(auditEntrySchema.extend(own)), total: count}),
    marks: z.strictObject({marks: z.array(auditPlaceSchema.extend(own)), total: count}),
  };
};

/** GET /hold-events: one of these per line, and empty lines so that silence means something. */
export const holdEventSchema = z.strictObject({
  id: z.string().max(200),
  /** Whose mail it is. */
  domain_id: id,
  event: z.discriminatedUnion('type', [heldEventSchema, releasedEventSchema, discardedEventSchema]),
});
