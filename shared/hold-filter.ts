import {isIP} from 'node:net';
import {z} from 'zod';
import {canonicalMailDomain} from './domain-name.ts';
import {moment, nodeId, queueId} from './fields.ts';
import {canonicalHost} from './host-port.ts';
import {comparableAddress, parseMailAddress} from './mail-address.ts';
import {mailEvents} from './mail-event-name.ts';
import {reasons} from './reason.ts';
import {recipientKeyId} from './recipient-key.ts';
import {deliveryStates} from './webhook.ts';

// Query parameters of the quarantine. They arrive as text; each schema says which text is valid and what it means. The types
// in `meta` are for the API description.

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .pipe(z.int().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`));

const decimal = z
  .string()
  .regex(/^[+-]?\d{1,9}(\.\d{1,20})?$/, 'must be a number such as 6.5')
  .transform(Number);

const instant = moment.transform(text => new Date(text).toISOString());

/** A text that `read` understands, in the form that it gives. */
const readText = (read: (text: string) => string | undefined, message: string) =>
  z.string().transform((text, context) => {
    const found = read(text);
    if (found !== undefined) return found;
    context.addIssue({code: 'custom', message});
    return z.NEVER;
  });

const domain = readText(canonicalMailDomain, 'must be a domain such as example.com');

const addressOrDomain = (text: string): string | undefined =>
  parseMailAddress(text) ? comparableAddress(text) : canonicalMailDomain(text.replace(/^@/, ''));

/** An address, a domain, or `<>` for bounces, which have no sender. */
const sender = readText(
  text => (text === '<>' ? '' : addressOrDomain(text)),
  'must be a mail address, a domain, or <> for bounces',
);

const from = readText(addressOrDomain, 'must be a mail address or a domain');

const address = z
  .string()
  .refine(text => parseMailAddress(text) !== undefined, 'must be a mail address')
  .transform(comparableAddress);

/** Some of `names`, with commas between them. */
export const listOf = <N extends string>(names: readonly N[]) =>
  z.string().transform((text, context): N[] => {
    const given = text.split(',');
    const known = names.filter(name => given.includes(name));
    if (given.every(name => known.includes(name as N))) return known;
    context.addIssue({code: 'custom', message: `must be some of ${names.join(', ')}, with commas between them`});
    return z.NEVER;
  });

/** Not trimmed: a trailing space is part of the search text. */
const subject = z
  .string()
  .min(1, 'must not be empty')
  .max(200, 'must be at most 200 characters')
  .regex(/^[^\x00-\x1f\x7f-\x9f]*$/, 'must not contain control characters');

const flag = (description: string) =>
  z
    .enum(['true', 'false'], 'must be true or false')
    .transform(text => text === 'true')
    .prefault('false')
    .meta({type: 'boolean', default: false, description});

const maxOffset = 1_000_000_000;

const pageShape = {
  limit: wholeNumber(1, 1000)
    .prefault('100')
    .meta({type: 'integer', minimum: 1, maximum: 1000, default: 100, description: 'Maximum number of entries'}),
  offset: wholeNumber(0, maxOffset)
    .prefault('0')
    .meta({type: 'integer', minimum: 0, maximum: maxOffset, default: 0, description: 'Entries to skip'}),
};

const sinceShape = {since: instant.optional().meta({description: 'At or after this time'})};

const holdFilterShape = {
  domain: domain.optional().meta({description: 'Only mail of this domain'}),
  sender: sender.optional().meta({description: 'Only mail from this address or domain'}),
  from: from.optional().meta({description: 'Only mail with this address, or an address of this domain, in the header `From`'}),
  address: address.optional().meta({description: 'Only mail with this address as sender, in the header `From`, or as recipient'}),
  ...sinceShape,
  until: instant.optional().meta({description: 'Only mail received before this time'}),
  min_score: decimal.optional().meta({type: 'number', description: 'Only mail with at least this score'}),
  max_score: decimal.optional().meta({type: 'number', description: 'Only mail with at most this score'}),
  reason: z.enum(reasons, `must be one of ${reasons.join(', ')}`).optional(),
  node: z.string().pipe(nodeId).optional().meta({description: 'Only mail held by this node'}),
  recipient: address.optional().meta({description: 'Only mail to this address'}),
  subject: subject.optional().meta({description: 'Only mail whose subject contains this text'}),
  requested: z
    .literal('true', 'must be true')
    .transform((): true => true)
    .optional()
    .meta({type: 'boolean', enum: [true], description: 'Only mail that a recipient has asked for'}),
};

const holdFilterSchema = z.strictObject(holdFilterShape);
/** Filter of held mail: a mail matches when every member does. Times are ISO 8601 UTC, names and addresses canonical. */
export type HoldFilter = z.infer<typeof holdFilterSchema>;

/** Whether the filter has more than node, domain and reason, which the stored totals answer: then many mails have to be read. */
export const isSearch = (filter: HoldFilter): boolean =>
  Object.entries(filter).some(
    ([name, value]) => value !== undefined && name !== 'domain' && name !== 'reason' && name !== 'node',
  );

const strict = flag('Fail rather than return a partial list');

export const holdListQuerySchema = z.strictObject({...holdFilterShape, ...pageShape, strict});
export const holdSummaryQuerySchema = z.strictObject({...holdFilterShape, strict});

/** With or without its brackets. */
const messageId = z
  .string()
  .transform(text => text.trim().replace(/^<(.*)>$/s, '$1'))
  .pipe(
    z
      .string()
      .min(1, 'must not be empty')
      .max(998, 'must be at most 998 characters')
      .regex(/^[^\x00-\x20\x7f-\x9f]*$/, 'must not contain blanks or control characters'),
  );

const clientAddress = readText(
  text => (isIP(text) === 0 ? undefined : canonicalHost(text)),
  'must be an IP address, such as 192.0.2.1',
);

const traceFilterShape = {
  recipient: address.optional().meta({description: 'Only mail to this address'}),
  sender: sender.optional().meta({description: 'Only mail from this address or domain'}),
  from: from.optional().meta({description: 'Only mail with this address, or an address of this domain, in the header `From`'}),
  address: address.optional().meta({description: 'Only mail with this address as sender, in the header `From`, or as recipient'}),
  subject: subject.optional().meta({description: 'Only mail whose subject contains this text'}),
  message_id: messageId.optional().meta({description: 'Only mail with this `Message-ID`'}),
  client: clientAddress.optional().meta({description: 'Only mail from this IP address'}),
  domain: domain.optional().meta({description: 'Only mail of this domain'}),
  node: z.string().pipe(nodeId).optional().meta({description: 'Only entries of this node'}),
  event: listOf(mailEvents)
    .optional()
    .meta({
      type: 'array',
      items: {type: 'string', enum: [...mailEvents]},
      description: 'Only these events',
      param: {style: 'form', explode: false},
    }),
  ...sinceShape,
  until: instant.optional().meta({description: 'Before this time'}),
};
const traceFilterSchema = z.strictObject({...traceFilterShape, queue_id: queueId.optional()});
/** Filter of the event log: an entry matches when every member does. Times are ISO 8601 UTC, names and addresses canonical. */
export type TraceFilter = z.infer<typeof traceFilterSchema>;

export const traceQuerySchema = z.strictObject({
  ...traceFilterShape,
  limit: pageShape.limit,
  cursor: z
    .string()
    .max(200, 'must be the id of an entry')
    .optional()
    .meta({description: 'The `id` of an entry: only what comes after it in the list'}),
  strict,
});

export const webhookDeliveriesQuerySchema = z.strictObject({
  state: z
    .enum(deliveryStates, `must be one of ${deliveryStates.join(', ')}`)
    .optional()
    .meta({description: 'Only these'}),
  limit: pageShape.limit,
  strict,
});

export const auditQuerySchema = z.strictObject({
  ...pageShape,
  ...sinceShape,
  key_id: wholeNumber(recipientKeyId, Number.MAX_SAFE_INTEGER).optional().meta({
    type: 'integer',
    minimum: recipientKeyId,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Only actions with this key; 0: of recipients, by the links of digests',
  }),
  action: z
    .string()
    .regex(/^[a-z]+(\.[a-z-]+)?$/, 'must be an action such as domain.update')
    .optional()
    .meta({description: 'Only this action', example: 'domain.update'}),
  target: z
    .string()
    .min(1, 'must not be empty')
    .max(300, 'must be at most 300 characters')
    .regex(/^[^\x00-\x1f\x7f-\x9f]*$/, 'must not contain control characters')
    .optional()
    .meta({
      description: 'Only what was done to this: a held mail as NODE/QUEUE, a domain, the id of a key',
      example: 'mx1/5fJk2LmQ0a',
    }),
});
export type AuditQuery = z.infer<typeof auditQuerySchema>;

export const digestPreviewQuerySchema = z.strictObject({address: address.meta({description: 'The recipient'})});
export const dnsQuerySchema = z.strictObject({check: flag('Compare the records with those in DNS')});

export const dmarcSummaryQuerySchema = z.strictObject({
  domain: domain.meta({description: 'A domain of the cluster'}),
  since: instant.optional().meta({description: 'Since the day of this time in UTC; without it: for 30 days'}),
});
export const dmarcSourcesQuerySchema = z.strictObject({
  ...dmarcSummaryQuerySchema.shape,
  verified: flag('Only reports whose sender SPF or DKIM verifies'),
});
export const pageQuerySchema = z.strictObject(pageShape);

export const forceQuerySchema = z.strictObject({force: flag('Even if no full-admin key is left')});
export const removeNodeQuerySchema = z.strictObject({
  force: flag('Even if no node is left that has the CA key'),
  revoke_keys: flag('Also revoke the keys that were created on the node'),
});
export const noQuerySchema = z.strictObject({});

export interface Page {
  limit: number;
  offset: number;
}
