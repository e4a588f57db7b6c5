// An entry of the event log as it is stored: the values alone, in a fixed order. The names of the members would be half of the bytes, and
// most mail names one domain over and over.
import {domainOf} from '../../../shared/mail-address.ts';
import type {MailAuthentication} from '../../../shared/mail-authentication.ts';
import {maxSubjectChars} from '../../../shared/mail-event.ts';
import type {NewMailEvent, StoredMailEvent} from '../../services/events/mail-event.ts';
import {storableText} from './db.ts';

export type Entry = Omit<StoredMailEvent, 'number' | 'at' | 'node_id' | 'logged_by'>;

/** Recipients that are stored, unless they are long. All of them are found. */
const maxRecipients = 100;
/** In place of what is said already: the author is the sender, the client greets by its name, a domain is the sender's. */
const same = true;

/** Symbols of an entry that is not about held mail. */
const maxSymbols = 5;
const maxSignatures = 10;

/**
 * Bytes that texts have at most, as they are stored: strangers write most of them, and disk and memory have to hold millions of entries. No
 * honest text is longer, except for lists.
 */
const maxBytes = {text: 1000, reply: 2000, messageId: 2000, name: 320, list: 4000};

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
  'recipients_left',
] as const satisfies readonly (keyof Entry)[];

/** With `recipient_count` the event was stored before, and its recipients may be some of them. */
export const writeEntry = (event: NewMailEvent & {recipient_count?: number}): string => {
  const {sender, recipients, recipient_count = recipients.length, from, client, authentication, symbols, subject} = event;
  const shown = shortList(recipients.slice(0, maxRecipients), maxBytes.text);
  const values: Record<(typeof members)[number], unknown> = {
    event: event.event,
    queue_id: event.queue_id,
    direction: event.direction,
    domain: shortOrNull(event.domain, maxBytes.name),
    domain_id: event.domain_id,
    sender: short(sender),
    recipients: shown,
    from: from?.length === 1 && from[0] === sender ? same : from && shortList(from, maxBytes.text),
    subject: subject === null ? null : shownSubject(subject),
    message_id: shortOrNull(event.message_id, maxBytes.messageId),
    client: client && writtenClient(client),
    size_bytes: event.size_bytes,
    score: event.score,
    reason: event.reason,
    symbols: event.event === 'held' ? shortSymbols(symbols) : shortList(symbols.slice(0, maxSymbols), maxBytes.name),
    authentication: authentication && writtenResults(authentication, sender),
    reply: shortOrNull(event.reply, maxBytes.reply),
    server: shortOrNull(event.server, maxBytes.name),
    took_ms: event.took_ms,
    key_id: event.key_id,
    recipient_count: recipient_count > shown.length ? recipient_count : null,
    detail: short(event.detail) || null,
    recipients_left: event.recipients_left,
  };
  const written = members.map(name => values[name]);
  const given = written.slice(0, written.findLastIndex(value => value !== null) + 1);
  const text = JSON.stringify(given);
  // Within the entry as well: PostgreSQL reads no value of a JSON text that has such a character anywhere, even escaped.
  if (!mayBeUnstorable.test(text)) return text;
  return JSON.stringify(given, (_name, value) => (typeof value === 'string' ? storableText(value) : value));
};

/** Matches the escapes of what `storableText` replaces, and a text that only looks like one. */
const mayBeUnstorable = /\\u(?:0000|d[89a-f])/;

/** The part of a subject that is found. */
export const soughtSubject = (subject: string): string =>
  subject.length <= maxSubjectChars ? subject : [...subject.slice(0, 2 * maxSubjectChars)].slice(0, maxSubjectChars).join('');

const shownSubject = (subject: string): string => {
  const sought = soughtSubject(subject);
  return sought.length < subject.length ? `${sought}…` : subject;
};

const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;

/** What one UTF-16 unit needs at most, as an escape. */
const bytesOfUnit = 6;

/** A text that was cut before stays as it is. */
const short = (text: string, most = maxBytes.text): string => {
  if (text.length * bytesOfUnit <= most || bytesOf(text) <= most) return text;
  let room = most - bytesOf('…');
  let end = 0;
  for (const character of text) {
    room -= bytesOf(character);
    if (room < 0) break;
    end += character.length;
  }
  return `${text.slice(0, end)}…`;
};

const shortOrNull = (text: string | null, most = maxBytes.text): string | null => (text === null ? null : short(text, most));

/** The first of the texts that have room together; one at least. */
const shortList = (texts: readonly string[], mostOfEach: number, most = maxBytes.list): string[] => {
  const list: string[] = [];
  let room = most;
  for (const text of texts) {
    const one = short(text, mostOfEach);
    room -= bytesOf(one) + 3;
    if (room < 0) break;
    list.push(one);
  }
  return list;
};

/** Ends in `…` when it was cut, see `isShortened` in `mail-source.ts`. */
const shortSymbols = (symbols: readonly string[]): string[] => {
  const list = shortList(symbols, maxBytes.name);
  return list.length === symbols.length ? list : [...shortList(symbols, maxBytes.name, maxBytes.list - 10), '…'];
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

const writtenClient = ({ip, name, helo, tls}: NonNullable<Entry['client']>) =>
  [short(ip, maxBytes.name), shortOrNull(name, maxBytes.name), helo === name ? same : short(helo, maxBytes.name), tls] as const;

const writtenResults = ({spf, dkim, dmarc, arc}: MailAuthentication, sender: string) => {
  const own = domainOf(sender);
  const written = (domain: string) => (domain === own ? same : short(domain, maxBytes.name));
  return [
    [spf.result, written(spf.domain)],
    dkim
      .slice(0, maxSignatures)
      .map(({result, domain, selector}) => [result, written(domain), short(selector, maxBytes.name)] as const),
    [dmarc.result, dmarc.policy, written(dmarc.domain)],
    arc.result,
  ] as const;
};

type WrittenResults = ReturnType<typeof writtenResults>;

const readResults = ([spf, dkim, dmarc, arc]: WrittenResults, sender: string): MailAuthentication => {
  const own = domainOf(sender) ?? '';
  const read = (domain: string | typeof same) => (domain === same ? own : domain);
  return {
    spf: {result: spf[0], domain: read(spf[1])},
    dkim: dkim.map(([result, domain, selector]) => ({result, domain: read(domain), selector})),
    dmarc: {result: dmarc[0], policy: dmarc[1], domain: read(dmarc[2])},
    arc: {result: arc},
  };
};
