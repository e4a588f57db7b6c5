// Messages between nodes on the cluster port, on behalf of no caller: their paths, and schemas that each is checked against. Unknown
// members are ignored, because a newer version may send more.

import {z} from 'zod';
import {licenseSchema, maxProblems, problemSchema} from '../../../shared/cluster-status.ts';
import {id, nodeId} from '../../../shared/fields.ts';
import type {Json} from '../../../shared/merge-patch.ts';
import {isKind, type Kind, type RecordKey} from '../records.ts';

/** Any time is accepted here. Changes dated too far ahead are skipped when applied, as a refusal would stop replication. */
const stampSchema = z.string().regex(/^[0-9a-f]{12}\.[0-9a-f]{4}\.[0-9a-f]{4}$/);

export const nodeNo = z.int().min(1).max(0xffff);
/** More events than there will ever be, but far below the largest safe integer. */
const seq = z
  .int()
  .min(0)
  .max(2 ** 48);
const json: z.ZodType<Json> = z.json() as z.ZodType<Json>;

/** May be a kind that only a newer version knows. Code that applies records skips these. */
const kind = z.string().max(64) as unknown as z.ZodType<Kind, string>;

/** All or part of the state of a record: fields with the stamps of their last writes, or the stamp of the deletion. */
const changeSchema = z.object({
  kind,
  id,
  fields: z.record(z.string().max(64), z.tuple([json, stampSchema])),
  deleted: stampSchema.nullable(),
});

export const recordKeySchema = z.object({kind, id});

/** One transaction of the node that sends it. */
const eventSchema = z.object({
  seq: seq.min(1),
  event: z.object({stamp: stampSchema, changes: z.array(changeSchema)}),
});
export type ReplicationEvent = z.infer<typeof eventSchema>;

/** POST /events: the sender's own changes, in order. `floor`: events up to and including this number have been deleted. */
export const eventsRequestSchema = z.object({floor: seq, events: z.array(eventSchema).max(1000)});
export type EventsRequest = z.infer<typeof eventsRequestSchema>;

/** The number of the last of the sender's events that the receiver has applied, and a description of the changes that it skipped. */
const eventsAnswerSchema = z.object({applied: seq, left_out: z.string().max(2000).optional()});
export type EventsAnswer = z.infer<typeof eventsAnswerSchema>;

/** POST /removed: the receiver has been removed from the cluster. Contains its number, because its name may have been reused. */
const removedSchema = z.strictObject({node_no: nodeNo});

/** Sequence numbers by the number of the node that assigned them. */
const vectorSchema = z.record(z.string().regex(/^\d{1,5}$/), seq);

/**
 * GET /records: one page of all replicated records, including tombstones, ordered by kind and id. `applied` is read before the
 * page, so later changes are among the events after it.
 */
export const recordsPageSchema = z.object({
  applied: vectorSchema,
  records: z.array(changeSchema),
  next: recordKeySchema.nullable(),
});
export type RecordsPage = z.infer<typeof recordsPageSchema>;

/** POST /records: the records with these keys; missing ones are left out of the answer. */
export const recordsRequestSchema = z.object({
  keys: z
    .array(recordKeySchema)
    .min(1)
    .max(500)
    .transform((keys): RecordKey[] => keys.filter(one => isKind(one.kind))),
});

/** GET /digests: one page of the digests of all records, ordered by kind and id. The digest of a tombstone is empty. */
export const digestsPageSchema = z.object({
  digests: z
    .array(z.tuple([kind, id, z.string().regex(/^([0-9a-f]{64})?$/)]))
    // Records of unknown kinds are not stored here, so they cannot be compared.
    .transform(all => all.filter(([name]) => isKind(name))),
  next: recordKeySchema.nullable(),
});
export type DigestsPage = z.infer<typeof digestsPageSchema>;

/** How often each key was used in one minute of the sender's clock. */
const minuteCountsSchema = z.object({
  /** Whole minutes since 1970. */
  window: z.int().min(0),
  counts: z.array(z.tuple([id, z.int().min(0)])),
});

/** Counts of the current minute and, since 0.5, of the one before: otherwise its last counts would never be sent. */
const keyCountsSchema = minuteCountsSchema.extend({before: minuteCountsSchema.optional()});
export type KeyCounts = z.infer<typeof keyCountsSchema>;

const dmarcStateSchema = z.object({
  /** A digest of `dmarc.*` in its configuration. */
  config: z.string().max(64),
  /** Whether a domain wants reports, and the node has no address to send them from. */
  is_unset: z.boolean(),
});
export type DmarcState = z.infer<typeof dmarcStateSchema>;

/** POST /heartbeat, and its answer: the state of the sender. */
export const heartbeatSchema = z.object({
  node_id: nodeId,
  node_no: nodeNo,
  version: z.string().max(50),
  /** Milliseconds since 1970. */
  clock_ms: z.int().min(0),
  config_hash: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  config_hash_age_s: z.int().min(0),
  /** The sender's newest event. */
  last_seq: seq,
  /** The last event of each other node that the sender has applied. */
  applied: vectorSchema,
  license: z.object(licenseSchema.shape),
  /** Whether the sender can issue certificates. */
  has_authority: z.boolean(),
  key_counts: keyCountsSchema,
  /** Latest uses of keys on the sender, ISO 8601: those since its last heartbeat to the receiver. */
  key_uses: z.array(z.tuple([id, z.iso.datetime()])),
  // Since 0.5:
  /** The sender's own node record: only the node itself may set its names and addresses. */
  self: changeSchema.optional(),
  /** True if some node refuses changes of the sender. */
  outbox_refused: z.boolean().optional(),
  /** Why the sender refuses changes of the receiver. */
  refuses_yours: z.string().max(1000).optional(),
  /** The numbers of the nodes that do not answer the sender. */
  unreached: z.array(nodeNo).max(1000).optional(),
  // Since 0.8:
  dmarc: dmarcStateSchema.optional(),
  // Since 0.9:
  problems: z.array(z.object(problemSchema.shape)).max(maxProblems).optional(),
  /** The kinds of records that the sender knows. */
  kinds: z.array(z.string().max(64)).max(100).optional(),
  /** `recipients.url` in its configuration; null without one. */
  recipients_url: z.string().max(1000).nullable().optional(),
});
export type Heartbeat = z.infer<typeof heartbeatSchema>;

/** In a status entry; without a state, of a node that has not been heard or is of an earlier version. */
export const shownDmarc = (state?: DmarcState) => ({dmarc_config: state?.config ?? null, dmarc_unset: state?.is_unset ?? false});

export const vectorOf = (applied: ReadonlyMap<number, number>): Record<string, number> => Object.fromEntries(applied);

/** The address of the asking node as the peer knows it, and why the peer cannot connect to it; null when it can. */
const reachAnswerSchema = z.object({address: z.string().max(300), why: z.string().max(300).nullable()});
export type ReachAnswer = z.infer<typeof reachAnswerSchema>;

/** Where a message goes below `/peer/v1/`, and what is sent and answered; without a request it has no body. */
export interface PeerMessage<Asked extends z.ZodType | undefined, Answer extends z.ZodType> {
  at: {method: 'GET' | 'POST'; path: string};
  request: Asked;
  answer: Answer;
}

export const get = <Answer extends z.ZodType>(path: string, answer: Answer): PeerMessage<undefined, Answer> => ({
  at: {method: 'GET', path},
  request: undefined,
  answer,
});

export const post = <Asked extends z.ZodType | undefined, Answer extends z.ZodType>(
  path: string,
  request: Asked,
  answer: Answer,
): PeerMessage<Asked, Answer> => ({at: {method: 'POST', path}, request, answer});

export const messages = {
  /** Answered with the heartbeat of the receiver. */
  heartbeat: post('heartbeat', heartbeatSchema, heartbeatSchema),
  /** The sender stops. */
  stopping: post('stopping', undefined, z.null()),
  /** Asks the receiver to connect to the sender, which may be about to join. */
  reach: post('reach', undefined, reachAnswerSchema),
  removed: post('removed', removedSchema, z.null()),
  events: post('events', eventsRequestSchema, eventsAnswerSchema),
  /** The query names the key that the page comes after. */
  recordsPage: get('records', recordsPageSchema),
  digestsPage: get('digests', digestsPageSchema),
  records: post('records', recordsRequestSchema, z.array(changeSchema)),
};

/** The query for the page after a record. */
export const afterRecord = (key: RecordKey | null | undefined): string => (key ? `?kind=${key.kind}&id=${key.id}` : '');
