// Webhooks as mfctl knows them: each of their fields is declared once. Their rules are the schemas in shared/webhook.ts.
import type {
  CreatedWebhook,
  CreateWebhook,
  Webhook,
  WebhookDelivery,
  WebhookDetail,
  WebhookProgress,
  WebhookTest,
} from '../../shared/webhook.ts';
import type {TypedField} from '../command-line/field-options.ts';
import {briefTimeText, dateText, firstOf, plural, timeText} from '../output/cell-text.ts';
import {columnsOf, detailsOf, type Field} from '../output/field.ts';
import type {Detail, Listed, Shown} from '../output/table.ts';
import {mailOf} from '../trace/event-fields.ts';
import {eventNames} from '../trace/trace-query.ts';

export interface NewWebhookFlags {
  events?: string;
  domain?: string;
  description?: string;
}

type WebhookField = Field<Webhook>;

const textOrNull = (text: string): string | null => text.trim() || null;

/** What options set; the address is an argument. */
export const newWebhookFields: Readonly<Record<Exclude<keyof CreateWebhook, 'url'>, WebhookField & TypedField<NewWebhookFlags>>> =
  {
    events: {
      label: 'Events',
      hint: 'with commas between them; empty: all',
      parse: text => text.split(/[\s,]+/).filter(Boolean),
      options: [
        {flags: '--events <events>', description: 'only these, with commas between, such as held,rejected', parse: eventNames},
      ],
      given: ({events}) => events?.split(','),
      cell: ({events}) => (events === null ? 'all' : firstOf(events)),
      column: {wide: ({events}) => events?.join(', ') ?? 'all', endsInCount: true},
    },
    domain: {
      label: 'Domain',
      hint: 'only mail of this domain; empty: of all',
      parse: textOrNull,
      options: [{flags: '--domain <domain>', description: 'only mail of this domain'}],
      given: ({domain}) => domain,
      cell: ({domain}) => domain ?? 'all',
      column: {dropRank: 2},
    },
    description: {
      label: 'Description',
      hint: 'what it is for',
      parse: textOrNull,
      options: [{flags: '--description <text>', description: 'what it is for'}],
      given: ({description}) => description,
      cell: ({description}) => description,
      column: {isFlexible: true, dropRank: 3},
    },
  };

const state = {
  label: 'State',
  cell: ({disabled_at}) => (disabled_at === null ? 'active' : 'disabled'),
  column: {tone: ({disabled_at}) => (disabled_at === null ? undefined : 'bad')},
} satisfies WebhookField;

/** In the order of columns and details. */
const webhookFields: readonly WebhookField[] = [
  {label: 'ID', cell: ({id}) => id, column: {align: 'right'}},
  {label: 'URL', cell: ({url}) => url, column: {isFlexible: true}},
  ...Object.values(newWebhookFields),
  state,
  {
    label: 'Created',
    cell: ({created_at}) => timeText(created_at),
    column: {brief: ({created_at}) => dateText(created_at), dropRank: 1},
  },
];

const named = {
  fields: ['id', 'url', 'events', 'domain', 'description', 'created_at', 'disabled_at', 'disabled_because'],
  nameOf: ({id}: Pick<Webhook, 'id'>) => String(id),
};

const webhookDetails = (webhook: Webhook): Detail[] => [
  ...detailsOf(webhookFields, webhook),
  ...(webhook.disabled_at === null
    ? []
    : [['Disabled', `${timeText(webhook.disabled_at)}: ${webhook.disabled_because ?? ''}`] as const]),
];

export const webhooks: Listed<Webhook> & Shown<Webhook> = {
  ...named,
  columns: columnsOf(webhookFields),
  details: webhookDetails,
  isShort: true,
  none: 'no webhooks',
};

export const createdWebhook: Shown<CreatedWebhook> = {
  ...named,
  fields: [...named.fields, 'secret'],
  details: created => [...webhookDetails(created), ['Secret', created.secret]],
};

export const shownWebhook: Shown<WebhookDetail> = {
  ...named,
  fields: [...named.fields, 'progress'],
  details: webhook => [...webhookDetails(webhook), ['Progress', webhook.progress.flatMap(progressLines)]],
};

/** A line for each fact: `mx1: last taken 2026-03-01T09:30:00Z`, `mx1: 1 event given up`. */
const progressLines = ({
  node_id,
  delivered_at,
  failing_since,
  next_try_at,
  error,
  missed_at,
  ...counts
}: WebhookProgress): string[] => {
  const {waiting, given_up} = counts;
  const next = next_try_at === null ? '' : `, next try ${timeText(next_try_at)}`;
  const facts = [
    delivered_at === null ? 'nothing taken yet' : `last taken ${timeText(delivered_at)}`,
    ...(failing_since === null ? [] : [`failing since ${timeText(failing_since)}: ${error ?? ''}${next}`]),
    ...(waiting > 0 ? [`${plural(waiting, 'event')} tried again later`] : []),
    ...(given_up > 0 ? [`${plural(given_up, 'event')} given up`] : []),
    ...(missed_at === null ? [] : [`events were gone from the log before they were sent, last seen ${timeText(missed_at)}`]),
  ];
  return facts.map(fact => `${node_id}: ${fact}`);
};

const deliveryFields: readonly Field<WebhookDelivery>[] = [
  {label: 'At', cell: ({at}) => timeText(at), column: {brief: ({at}) => briefTimeText(at)}},
  {label: 'Event', cell: ({event}) => event, column: {}},
  {
    label: 'Mail',
    cell: ({mail_node_id, queue_id}) => mailOf({node_id: mail_node_id, queue_id}),
    column: {dropRank: 3},
  },
  {label: 'Node', cell: ({node_id}) => node_id, column: {isWideOnly: true}},
  {
    label: 'State',
    cell: ({state: one}) => one.replace('_', ' '),
    column: {tone: ({state: one}) => (one === 'given_up' ? 'bad' : 'warn')},
  },
  {label: 'Tries', cell: ({tries}) => tries, column: {align: 'right', dropRank: 2}},
  {
    label: 'Next try',
    cell: ({next_try_at}) => timeText(next_try_at),
    column: {brief: ({next_try_at}) => briefTimeText(next_try_at)},
  },
  {label: 'Failure', cell: ({error}) => error, column: {isFlexible: true, dropRank: 1}},
  {label: 'Last try', cell: ({tried_at}) => timeText(tried_at), column: {isWideOnly: true}},
  {label: 'Event ID', cell: ({event_id}) => event_id, column: {isWideOnly: true}},
];

export const webhookDeliveries: Listed<WebhookDelivery> = {
  fields: [
    ...['node_id', 'event_id', 'event', 'mail_node_id', 'queue_id', 'at', 'state', 'tries', 'tried_at', 'next_try_at'],
    ...['status', 'error'],
  ],
  nameOf: ({event_id}) => event_id,
  columns: columnsOf(deliveryFields),
};

const testFields: readonly Field<WebhookTest>[] = [
  {label: 'Node', cell: ({node_id}) => node_id, column: {}},
  {
    label: 'Taken',
    cell: ({error}) => error === null,
    column: {tone: ({error}) => (error === null ? 'good' : 'bad')},
  },
  {label: 'Status', cell: ({status}) => status, column: {}},
  {label: 'Took', cell: ({took_ms}) => `${took_ms} ms`, column: {}},
  {label: 'Failure', cell: ({error}) => error, column: {}},
];

export const webhookTest: Shown<WebhookTest> = {
  fields: ['node_id', 'status', 'error', 'took_ms'],
  nameOf: ({node_id}) => node_id,
  details: outcome => detailsOf(testFields, outcome),
};
