// Entries of the event log. Those about held mail are written by the store with the row that changes.
import type {SymbolScore} from '../../../shared/held-mail.ts';
import {recipientKeyId} from '../../../shared/recipient-key.ts';
import {authorAddresses} from '../intake/author-field.ts';
import {subjectOf} from '../intake/header-block.ts';
import {type Client, type HeaderField, type Judgement, queuedAs, type ReceivedMail, replyText} from '../intake/mail.ts';
import type {Arrival, Ending, NewHeldMail, PartEnding, ReleaseRequest, StoredHeldMail} from '../quarantine/stored-mail.ts';
import {shownScore} from '../quarantine/stored-mail.ts';
import type {NewMailEvent} from './mail-event.ts';

/** What an entry says of a mail that was not read. */
export const unknownMail: Omit<NewMailEvent, 'event' | 'at'> = {
  queue_id: null,
  direction: null,
  domain: null,
  domain_id: null,
  sender: '',
  recipients: [],
  from: null,
  subject: null,
  message_id: null,
  client: null,
  size_bytes: null,
  score: null,
  reason: null,
  symbols: [],
  authentication: null,
  reply: null,
  server: null,
  took_ms: null,
  key_id: null,
  detail: '',
  recipients_left: null,
};

/** What is known of a mail that is being held, besides its row. */
export const arrivalOf = ({queueId, client, headers, receivedAt}: ReceivedMail): Arrival => ({
  client_name: client.hostname,
  tls: clientFacts(client).tls ?? false,
  message_id: messageIdOf(headers),
  reply: replyText(queuedAs(queueId)),
  took_ms: Date.now() - receivedAt.getTime(),
});

/** What an entry says of the client that sent a mail. */
export const clientFacts = ({ip, hostname, helo, protocol}: Client): NonNullable<NewMailEvent['client']> => ({
  ip,
  name: hostname,
  helo,
  tls: /SMTPSA?$/.test(protocol),
});

export const headerFacts = (headers: readonly HeaderField[]): Pick<NewMailEvent, 'from' | 'subject' | 'message_id'> => ({
  from: authorAddresses(headers),
  subject: subjectOf(headers),
  message_id: messageIdOf(headers),
});

/** The longest that is stored: a name in a header field may have 250 KB. */
const maxMessageId = 998;

/** The content of the brackets of the first such field (RFC 5322 section 3.6.4); null without one. */
const messageIdOf = (headers: readonly HeaderField[]): string | null => {
  const field = headers.find(({name}) => name.toLowerCase() === 'message-id');
  const text = field?.value.replace(/\r?\n/g, '').trim() ?? '';
  const id = /^<([^<>]*)>/.exec(text)?.[1] ?? text;
  return id === '' || id.length > maxMessageId ? null : id;
};

export const judgementFacts = ({score, symbols, reason, verified}: Judgement) => ({
  score: shownScore(score),
  reason,
  symbols: strongest(symbols),
  authentication: verified?.results ?? null,
});

type Facts = Omit<NewHeldMail, 'arrival'>;

interface Occasion {
  at: string;
  detail?: string;
  arrival?: Arrival | undefined;
}

/** Names each member once: V8 needs ten times as long where one of them is written over. */
const eventOf = (mail: Facts, event: NewMailEvent['event'], {at, detail = '', arrival}: Occasion): NewMailEvent => ({
  event,
  at,
  queue_id: mail.queue_id,
  direction: mail.direction,
  domain: mail.domain,
  domain_id: mail.domain_id,
  sender: mail.sender,
  recipients: mail.recipients,
  from: mail.from,
  subject: mail.subject,
  message_id: arrival?.message_id ?? null,
  client:
    mail.client_ip === ''
      ? null
      : {ip: mail.client_ip, name: arrival?.client_name ?? null, helo: mail.helo, tls: arrival?.tls ?? null},
  size_bytes: mail.size_bytes,
  score: shownScore(mail.score),
  reason: mail.reason,
  symbols: mail.symbol_scores.map(({name}) => name),
  authentication: mail.authentication,
  reply: arrival?.reply ?? null,
  server: null,
  took_ms: arrival?.took_ms ?? null,
  key_id: null,
  detail,
  recipients_left: null,
});

/** Without `arrival` the mail was found in the spool or in Postfix: what else came with it is not known. */
export const heldEvent = (mail: NewHeldMail): NewMailEvent => eventOf(mail, 'held', {at: mail.arrived_at, arrival: mail.arrival});

/** Mail whose bytes were away is held again. */
export const reopenedEvent = (mail: StoredHeldMail, at: string): NewMailEvent =>
  eventOf(mail, 'held', {at, detail: 'it is there again'});

export const endedEvent = (mail: StoredHeldMail, {state, at, keyId, delivered}: Ending): NewMailEvent => ({
  ...eventOf(mail, state === 'gone' ? 'lost' : state, {
    at,
    detail: state === 'gone' ? 'it left Postfix’s hold queue by another hand' : '',
  }),
  key_id: keyId,
  symbols: strongest(mail.symbol_scores),
  ...delivered?.get(mail.queue_id),
});

/** `mail.recipients` are those for whom the mail has ended, and it is held for `left` others. */
export const partEvent = (
  mail: StoredHeldMail,
  {state, at, keyId, delivered, left}: Omit<PartEnding, 'addresses'> & {left: number},
): NewMailEvent => ({
  ...eventOf(mail, state, {at}),
  key_id: keyId,
  symbols: strongest(mail.symbol_scores),
  recipients_left: left,
  ...delivered,
});

/** A recipient asks for the mail. */
export const requestedEvent = (
  mail: StoredHeldMail,
  {address, requested_at}: Omit<ReleaseRequest, 'queue_id'>,
): NewMailEvent => ({
  ...eventOf({...mail, recipients: [address]}, 'release_requested', {at: requested_at}),
  key_id: recipientKeyId,
  symbols: strongest(mail.symbol_scores),
});

/** A mail of which nothing else is known any more. */
export const lostEvent = (queueId: string, at: string, detail: string): NewMailEvent => ({
  ...unknownMail,
  event: 'lost',
  at,
  queue_id: queueId,
  detail,
});

const strongest = (symbols: readonly SymbolScore[]): string[] =>
  symbols.toSorted((one, other) => Math.abs(other.score) - Math.abs(one.score)).map(({name}) => name);
