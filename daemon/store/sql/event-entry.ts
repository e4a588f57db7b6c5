// An entry of the event log as it is stored: the values alone, in a fixed order. The names of the members would be half of the bytes, and
// most mail names one domain over and over.
import {domainOf} from '../../../shared/mail-address.ts';
import type {MailAuthentication} from '../../../shared/mail-authentication.ts';
import type {NewMailEvent, StoredMailEvent} from '../../services/events/mail-event.ts';
import {storableText} from './db.ts';

export type Entry = Omit<StoredMailEvent, 'number' | 'at' | 'node_id' | 'logged_by'>;

/** Recipients that are stored. All of them are found. */
const maxRecipients = 100;
/** In place of what is said already: the author is the sender, the client greets by its name, a domain is the sender's. */
const same = true;

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
  const {sender, recipients, recipient_count = recipients.length, from, client, authentication, symbols, detail} = event;
  const values: Record<(typeof members)[number], unknown> = {
    ...event,
    recipients: recipients.slice(0, maxRecipients),
    from: from?.length === 1 && from[0] === sender ? same : from,
    client: client && [client.ip, client.name, client.helo === client.name ? same : client.helo, client.tls],
    symbols: event.event === 'held' ? symbols : symbols.slice(0, maxSymbols),
    authentication: authentication && writtenResults(authentication, sender),
    recipient_count: recipient_count > maxRecipients ? recipient_count : null,
    detail: detail || null,
  };
  const written = members.map(name => values[name]);
  const given = written.slice(0, written.findLastIndex(value => value !== null) + 1);
  // Within the entry as well: PostgreSQL reads no value of a JSON text that has such a character anywhere, even escaped.
  return JSON.stringify(given, (_name, value) => (typeof value === 'string' ? storableText(value) : value));
};

export const readEntry = (text: string): Entry => {
  const written = JSON.parse(text) as unknown[];
  const values = Object.fromEntries(members.map((name, at) => [name, written[at] ?? null]));
  const recipients = values.recipients as string[];
  const sender = values.sender as string;
  const client = values.client as [string, string | null, string | typeof same, boolean | null] | null;
  return {
    ...(values as unknown as Entry),
    recipient_count: (values.recipient_count as number | null) ?? recipients.length,
    from: values.from === same ? [sender] : (values.from as string[] | null),
    client: client && {ip: client[0], name: client[1], helo: client[2] === same ? (client[1] ?? '') : client[2], tls: client[3]},
    authentication: values.authentication === null ? null : readResults(values.authentication as WrittenResults, sender),
    detail: (values.detail as string | null) ?? '',
  };
};

const writtenResults = ({spf, dkim, dmarc, arc}: MailAuthentication, sender: string) => {
  const written = (domain: string) => (domain === domainOf(sender) ? same : domain);
  return [
    [spf.result, written(spf.domain)],
    dkim.map(({result, domain, selector}) => [result, written(domain), selector] as const),
    [dmarc.result, dmarc.policy, written(dmarc.domain)],
    arc.result,
  ] as const;
};

type WrittenResults = ReturnType<typeof writtenResults>;

const readResults = ([spf, dkim, dmarc, arc]: WrittenResults, sender: string): MailAuthentication => {
  const read = (domain: string | typeof same) => (domain === same ? (domainOf(sender) ?? '') : domain);
  return {
    spf: {result: spf[0], domain: read(spf[1])},
    dkim: dkim.map(([result, domain, selector]) => ({result, domain: read(domain), selector})),
    dmarc: {result: dmarc[0], policy: dmarc[1], domain: read(dmarc[2])},
    arc: {result: arc},
  };
};
