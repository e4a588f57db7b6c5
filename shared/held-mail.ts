import {z} from 'zod';
import {type ErrorValue, errorSchema} from './envelope.ts';
import {nodeId, queueId, timestamp} from './fields.ts';
import {mailAuthenticationSchema} from './mail-authentication.ts';
import {reasons} from './reason.ts';

export const heldMailSchema = z
  .strictObject({
    node_id: nodeId.meta({description: 'Owner node'}),
    queue_id: queueId.meta({description: 'Identifier on the owner node, never reused'}),
    sender: z.string().meta({description: 'Envelope sender; empty for a bounce'}),
    from: z.array(z.string()).nullable().meta({
      description:
        'Addresses in the header `From`, in lower case; empty when none can be read, null until the header of a mail from an earlier version has been read',
    }),
    recipients: z.array(z.string()),
    subject: z.string().meta({description: 'Decoded (RFC 2047); hostile text, show it with care'}),
    score: z.number(),
    symbols: z.array(z.string()).meta({description: 'Names of the rules that matched'}),
    reason: z.enum(reasons),
    size_bytes: z.int(),
    arrived_at: timestamp,
    release_requested: z.boolean().meta({
      description: 'Whether a recipient for whom it is held has asked for it, by the link of a digest',
    }),
  })
  .meta({id: 'QuarantinedMail'});
export type HeldMail = z.infer<typeof heldMailSchema>;

export const symbolSchema = z.strictObject({name: z.string(), score: z.number()});
export type SymbolScore = z.infer<typeof symbolSchema>;

const actedStates = ['released', 'discarded'] as const;
export type ActedState = (typeof actedStates)[number];

const recipientStateSchema = z.strictObject({
  address: z.string(),
  state: z.enum(['held', ...actedStates]),
  acted_at: timestamp.nullable(),
  acted_by: z.int().nullable().meta({
    description: 'Id of the key that acted for the recipient; 0 when the recipient did, by the link of a digest',
  }),
  requested_at: timestamp.nullable().meta({description: 'When a recipient for whom the mail is still held asked for it'}),
});
export type RecipientState = z.infer<typeof recipientStateSchema>;

/** One held mail with the members that the list leaves out. */
export const heldMailDetailSchema = heldMailSchema
  .extend({
    domain: z.string(),
    direction: z.enum(['inbound', 'outbound']),
    symbol_scores: z.array(symbolSchema),
    client_ip: z.string(),
    helo: z.string(),
    authentication: mailAuthenticationSchema.nullable().meta({
      description: 'Null for mail that was not verified: of trusted clients, of users, and of earlier versions',
    }),
    recipient_states: z.array(recipientStateSchema).optional().meta({
      description:
        'Those for whom the mail is held, then those for whom it is not any more. Missing where the node of the mail is of a version that acts for all recipients only',
    }),
  })
  .meta({id: 'QuarantinedMailDetail'});
export type HeldMailDetail = z.infer<typeof heldMailDetailSchema>;

export const holdActions = ['release', 'discard'] as const;
export type HoldAction = (typeof holdActions)[number];

export const actionOutcomeSchema = z
  .strictObject({
    node_id: nodeId,
    queue_id: queueId,
    state: z.enum(actedStates),
    acted_at: timestamp,
    acted_by_key_id: z.int().nullable().meta({description: '0 when a recipient acted, by the link of a digest'}),
    already: z.boolean().meta({description: 'True when the action had been done before this request'}),
  })
  .meta({id: 'ActionOutcome'});
export type ActionOutcome = z.infer<typeof actionOutcomeSchema>;

const trainingClass = z.enum(['ham', 'spam'], 'must be ham or spam');
export type TrainingClass = z.infer<typeof trainingClass>;

export const trainRequestSchema = z
  .strictObject({as: trainingClass.meta({description: 'What the mail is'})})
  .meta({id: 'TrainRequest'});

const training = z.enum(['learned', 'learned_before', 'too_short', 'nothing_new']);
export type Training = z.infer<typeof training>;

export const trainingOutcomeSchema = z
  .strictObject({
    node_id: nodeId,
    queue_id: queueId,
    as: trainingClass,
    outcome: training.meta({
      description: 'What the scanner said. All but `learned` mean that this request taught it nothing',
    }),
  })
  .meta({id: 'TrainingOutcome'});
export type TrainingOutcome = z.infer<typeof trainingOutcomeSchema>;

const mailReferenceSchema = z.strictObject({node_id: nodeId, queue_id: queueId});
export type MailReference = z.infer<typeof mailReferenceSchema>;

const maxNamed = 1000;
/** All of `actRequestSchema` is optional, and so its members of an item of a bulk request. */
const ofAction = {
  recipients: z
    .array(z.string().min(1).max(1000))
    .min(1, 'must name at least one recipient')
    .max(maxNamed, `must name at most ${maxNamed} recipients`)
    .optional()
    .meta({description: 'Only for these of its recipients; without it, for all for whom the mail is held'}),
};
export const actRequestSchema = z.strictObject(ofAction).meta({id: 'ActRequest'});

const bulkItemSchema = mailReferenceSchema.extend(ofAction);
/** A mail to act on. */
export type ActedMail = z.infer<typeof bulkItemSchema>;

export const bulkRequestSchema = z
  .strictObject({
    items: z.array(bulkItemSchema).min(1, 'must name at least one mail').max(1000, 'must name at most 1000 mails'),
  })
  .meta({id: 'BulkRequest'});

/** The error of one mail of a bulk action. */
export const bulkFailureSchema = mailReferenceSchema
  .extend({error: errorSchema.shape.error.pick({code: true, detail: true, fields: true})})
  .meta({id: 'BulkFailure', description: 'The error that the action on this mail alone would have had'});

/** One entry of a bulk answer, as the single action would have answered. */
export type BulkResult = ActionOutcome | (MailReference & {error: Pick<ErrorValue, 'code' | 'detail' | 'fields'>});

export const summaryGroupSchema = z.strictObject({
  domain: z.string(),
  reason: z.enum(reasons),
  node_id: nodeId,
  count: z.int(),
  size_bytes: z.int(),
  oldest_arrived_at: timestamp,
});
export const summarySchema = z
  .strictObject({
    count: z.int(),
    size_bytes: z.int(),
    oldest_arrived_at: timestamp.nullable(),
    groups: z.array(summaryGroupSchema).meta({description: 'One entry per domain, reason and node that has held mail'}),
  })
  .meta({id: 'QuarantineSummary'});
export type Summary = z.infer<typeof summarySchema>;
export type SummaryGroup = z.infer<typeof summaryGroupSchema>;
