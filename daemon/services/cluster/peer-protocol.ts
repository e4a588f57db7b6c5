// Messages between nodes on the cluster port, below /peer/v1. A peer is believed only as far as these shapes go. Unknown members are
// left out: a node of a newer version sends more, and has to be understood all the same.

import {z} from 'zod';
import {licenseSchema} from '../../../shared/cluster-status.ts';
import {id, nodeId} from '../../../shared/fields.ts';
import type {Json} from '../../../shared/merge-patch.ts';
import {isKind, type Kind, type RecordKey} from '../records.ts';

/** Of any time: what is dated too far ahead is left out where it is applied, as a refusal would end replication from its sender. */
const stampSchema = z.string().regex(/^[0-9a-f]{12}\.[0-9a-f]{4}\.[0-9a-f]{4}$/);

export const nodeNo = z.int().min(1).max(0xffff);
/** More events than there will ever be, and room to go on counting. */
const seq = z
  .int()
  .min(0)
  .max(2 ** 48);
const json: z.ZodType<Json> = z.json() as z.ZodType<Json>;

/** May be one that only a newer version knows: whoever takes records over leaves these out. */
const kind = z.string().max(64) as unknown as z.ZodType<Kind, string>;

/** Part of a record's state, or all of it: fields with the stamps of their last writes, or the deletion. */
export const changeSchema = z.object({
  kind,
  id,
  fields: z.record(z.string().max(64), z.tuple([json, stampSchema])),
  deleted: stampSchema.nullable(),
});

export const recordKeySchema = z.object({kind, id});

/** One transaction of its origin. */
const eventSchema = z.object({
  seq: seq.min(1),
  event: z.object({stamp: stampSchema, changes: z.array(changeSchema)}),
});
export type ReplicationEvent = z.infer<typeof eventSchema>;

/** POST /events: what the sender has changed itself, in order. `floor`: older events than the one after it are gone. */
export const eventsRequestSchema = z.object({floor: seq, events: z.array(eventSchema).max(1000)});
export type EventsRequest = z.infer<typeof eventsRequestSchema>;

/** How far the receiver has come with the sender's events, and what of this batch it has left out. */
export const eventsAnswerSchema = z.object({applied: seq, left_out: z.string().max(2000).optional()});
export type EventsAnswer = z.infer<typeof eventsAnswerSchema>;

/** POST /removed: the node that is asked has been removed. Its number, as its name may be another node's by now. */
export const removedSchema = z.strictObject({node_no: nodeNo});

/** Sequence numbers by the number of the node that gave them. */
const vectorSchema = z.record(z.string().regex(/^\d{1,5}$/), seq);

/**
 * GET /records: one page of all that is replicated, tombstones included, in the order of kind and id. `applied` is read before
 * the page is: what came to the answering node later is in the outboxes from there on.
 */
export const recordsPageSchema = z.object({
  applied: vectorSchema,
  records: z.array(changeSchema),
  next: recordKeySchema.nullable(),
});
export type RecordsPage = z.infer<typeof recordsPageSchema>;

/** POST /records: the named records, without those that are not there. */
export const recordsRequestSchema = z.object({
  keys: z
    .array(recordKeySchema)
    .min(1)
    .max(500)
    .transform((keys): RecordKey[] => keys.filter(one => isKind(one.kind))),
});

/** GET /digests: one page of what every record looks like, in the order of kind and id; empty for one that is not live. */
export const digestsPageSchema = z.object({
  digests: z
    .array(z.tuple([kind, id, z.string().regex(/^([0-9a-f]{64})?$/)]))
    // What cannot be kept here cannot be compared.
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

/** Of the running minute, and since 0.5 of the one before: what was counted last in it would not be heard of. */
const keyCountsSchema = minuteCountsSchema.extend({before: minuteCountsSchema.optional()});
export type KeyCounts = z.infer<typeof keyCountsSchema>;

/** POST /heartbeat, and its answer: each tells the other how it is. */
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
  /** How far the sender has applied the events of others. */
  applied: vectorSchema,
  license: z.object(licenseSchema.shape),
  /** Whether the sender can issue certificates. */
  has_authority: z.boolean(),
  key_counts: keyCountsSchema,
  /** Latest uses of keys there, ISO 8601: those that are new since its last heartbeat to this node. */
  key_uses: z.array(z.tuple([id, z.iso.datetime()])),
  // Since 0.5:
  /** The sender's own node record: its names and addresses are believed from itself alone. */
  self: changeSchema.optional(),
  /** Some node refuses what the sender has changed. */
  outbox_refused: z.boolean().optional(),
  /** Why the sender does not take what the receiver has changed. */
  refuses_yours: z.string().max(1000).optional(),
  /** The nodes that do not answer the sender. */
  unreached: z.array(nodeNo).max(1000).optional(),
});
export type Heartbeat = z.infer<typeof heartbeatSchema>;

export const vectorOf = (applied: ReadonlyMap<number, number>): Record<string, number> => Object.fromEntries(applied);
