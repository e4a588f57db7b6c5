// Webhooks: addresses to which mail events are sent, by Standard Webhooks 1.0 (https://www.standardwebhooks.com).
import {z} from 'zod';
import {id, label, moment, nodeId, queueId, timestamp} from './fields.ts';
import {mailEvents} from './mail-event-name.ts';

export const maxWebhooks = 50;
const maxUrlChars = 2000;

const url = z.string().max(maxUrlChars, `must be at most ${maxUrlChars} characters`);
const events = z
  .array(z.enum(mailEvents))
  .min(1, 'must have an event; leave it out, or send null, for all events')
  .max(mailEvents.length)
  .nullable()
  .meta({description: 'Only these events of mail; null: all, also those of later versions'});
const domain = z.string().nullable().meta({description: 'Only events of mail of this domain; null: of all'});
const description = label(200).nullable();

/** Why a text cannot be the address of a webhook. What its name resolves to is checked at each connection. */
const webhookUrlFault = (text: string): string | undefined => {
  if (!URL.canParse(text)) return 'must be an address such as https://hooks.example.com/mail';
  const {protocol, username, password, hash, href} = new URL(text);
  if (href.length > maxUrlChars) return `must be at most ${maxUrlChars} characters, encoded as it is sent`;
  if (protocol !== 'https:' && protocol !== 'http:')
    return 'must begin with https://, or with http:// to a network of webhooks.allow_networks';
  if (username !== '' || password !== '')
    return 'must not have a name or a password, which lists would show; the signature tells who sends';
  return hash === '' ? undefined : 'must not have a fragment (#…), which is never sent';
};

export const createWebhookSchema = z
  .strictObject({
    url: url.refine(text => webhookUrlFault(text) === undefined, {error: ({input}) => webhookUrlFault(String(input))}),
    events: events.default(null),
    domain: domain.default(null),
    description: description.default(null),
  })
  .meta({id: 'CreateWebhook'});
export type CreateWebhook = z.input<typeof createWebhookSchema>;

export const webhookSchema = z
  .strictObject({
    id,
    url: z.string(),
    events: z.array(z.string()).nullable().meta({description: 'Null: all'}),
    domain,
    description: z.string().nullable(),
    created_at: timestamp,
    disabled_at: timestamp
      .nullable()
      .meta({description: 'Since when nothing is sent: the address answered 410, or took nothing for 75 hours'}),
    disabled_because: z.string().nullable(),
  })
  .meta({id: 'Webhook', description: 'An address to which mail events are sent'});
export type Webhook = z.infer<typeof webhookSchema>;

export const createdWebhookSchema = webhookSchema
  .extend({
    secret: z.string().meta({description: '`whsec_` and 32 bytes in base64, which sign each delivery; in this answer only'}),
  })
  .meta({id: 'CreatedWebhook'});
export type CreatedWebhook = z.infer<typeof createdWebhookSchema>;

const text = z.string().max(1000);
const count = z.int().min(0);
const status = z.int().nullable().meta({description: 'HTTP status of the last answer; null when there was none'});
const error = text.nullable().meta({description: 'Why the last try failed'});

/** How far the events that one node logged were sent. */
export const webhookProgressSchema = z
  .strictObject({
    node_id: nodeId.meta({description: 'The node that logged the events'}),
    delivered_at: timestamp.nullable().meta({description: 'The last success'}),
    failing_since: timestamp.nullable().meta({description: 'The first failure since the last success'}),
    next_try_at: timestamp
      .nullable()
      .meta({description: 'When the event is tried again that the others wait for; null when none does'}),
    ...{status, error},
    waiting: count.meta({description: 'Events that are tried again on a schedule of their own'}),
    given_up: count.meta({description: 'Events that were given up'}),
    missed_at: timestamp.nullable().meta({description: 'When events were last found gone from the log before they were sent'}),
  })
  .meta({id: 'WebhookProgress'});
export type WebhookProgress = z.infer<typeof webhookProgressSchema>;

export const webhookDetailSchema = webhookSchema
  .extend({progress: z.array(webhookProgressSchema).meta({description: 'Of each node that has sent, or tried'})})
  .meta({id: 'WebhookDetail'});
export type WebhookDetail = z.infer<typeof webhookDetailSchema>;

/** `waiting` is tried again. */
export const deliveryStates = ['waiting', 'given_up'] as const;

export const webhookDeliverySchema = z
  .strictObject({
    node_id: nodeId.meta({description: 'The node that logged the event'}),
    event_id: z.string().max(200).meta({description: 'The `webhook-id`'}),
    event: z.string().max(100),
    mail_node_id: nodeId.meta({description: 'The node that has the mail or had it'}),
    queue_id: queueId.nullable(),
    at: timestamp.meta({description: 'When it happened'}),
    state: z.enum(deliveryStates).meta({description: '`waiting` is tried again'}),
    tries: count,
    tried_at: timestamp,
    next_try_at: timestamp.nullable(),
    ...{status, error},
  })
  .meta({id: 'WebhookDelivery', description: 'An event that an address did not take at first'});
export type WebhookDelivery = z.infer<typeof webhookDeliverySchema>;

export const webhookTestSchema = z
  .strictObject({node_id: nodeId, ...{status, error}, took_ms: count})
  .meta({id: 'WebhookTest', description: 'What became of a test event; without an error it was taken'});
export type WebhookTest = z.infer<typeof webhookTestSchema>;

export const replayWebhookSchema = z
  .strictObject({since: moment.meta({description: 'All events from this time on are sent again, with the ids that they had'})})
  .meta({id: 'ReplayWebhook'});
export type ReplayWebhook = z.input<typeof replayWebhookSchema>;
