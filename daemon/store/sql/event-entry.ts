// An entry of the event log as it is stored: the values alone, in a fixed order. The names of the members would be half of the bytes.
import type {MailAuthentication} from '../../../shared/mail-authentication.ts';
import type {NewMailEvent, StoredMailEvent} from '../../services/events/mail-event.ts';

export type Entry = Omit<StoredMailEvent, 'number' | 'at' | 'node_id' | 'logged_by'>;

/** Recipients that are stored. All of them are found. */
const maxRecipients = 100;
/** Symbols of an entry that is not about held mail. */
const maxSymbols = 5;

/** What is stored depends on the order: add new members at the end, and remove none. Those that are mostly empty come last. */
const members = [
  'event',
  'queue_id',
  'direction',
  'domain',
  'domain_id',
  'sender',
  'recipients',
  'from',
  'subject',
  'message_id',
  'client',
  'size_bytes',
  'score',
  'reason',
  'symbols',
  'authentication',
  'reply',
  'server',
  'took_ms',
  'key_id',
  'recipient_count',
  'detail',
] as const satisfies readonly (keyof Entry)[];

/** With `recipient_count` the event was stored before, and its recipients may be some of them. */
export const writeEntry = (event: NewMailEvent & {recipient_count?: number}): string => {
  const {recipients, recipient_count = recipients.length, client, authentication, symbols, detail} = event;
  const values: Record<(typeof members)[number], unknown> = {
    ...event,
    recipients: recipients.slice(0, maxRecipients),
    client: client && [client.ip, client.name, client.helo, client.tls],
    symbols: event.event === 'held' ? symbols : symbols.slice(0, maxSymbols),
    authentication: authentication && writtenResults(authentication),
    recipient_count: recipient_count > maxRecipients ? recipient_count : null,
    detail: detail || null,
  };
  const written = members.map(name => values[name]);
  return JSON.stringify(written.slice(0, written.findLastIndex(value => value !== null) + 1));
};

export const readEntry = (text: string): Entry => {
  const written = JSON.parse(text) as unknown[];
  const values = Object.fromEntries(members.map((name, at) => [name, written[at] ?? null]));
  const recipients = values.recipients as string[];
  const client = values.client as [string, string | null, string, boolean | null] | null;
  return {
    ...(values as unknown as Entry),
    recipient_count: (values.recipient_count as number | null) ?? recipients.length,
    client: client && {ip: client[0], name: client[1], helo: client[2], tls: client[3]},
    authentication: values.authentication === null ? null : readResults(values.authentication as WrittenResults),
    detail: (values.detail as string | null) ?? '',
  };
};

const writtenResults = ({spf, dkim, dmarc, arc}: MailAuthentication) =>
  [
    [spf.result, spf.domain],
    dkim.map(({result, domain, selector}) => [result, domain, selector] as const),
    [dmarc.result, dmarc.policy, dmarc.domain],
    arc.result,
  ] as const;

type WrittenResults = ReturnType<typeof writtenResults>;

const readResults = ([spf, dkim, dmarc, arc]: WrittenResults): MailAuthentication => ({
  spf: {result: spf[0], domain: spf[1]},
  dkim: dkim.map(([result, domain, selector]) => ({result, domain, selector})),
  dmarc: {result: dmarc[0], policy: dmarc[1], domain: dmarc[2]},
  arc: {result: arc},
});
