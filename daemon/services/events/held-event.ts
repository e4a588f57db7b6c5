// Entries of the event log about held mail. The store writes them with the row that changes.
import type {Ending, NewHeldMail, StoredHeldMail} from '../quarantine/stored-mail.ts';
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
};

type Facts = Omit<NewHeldMail, 'arrival'>;

const eventOf = (mail: Facts): Omit<NewMailEvent, 'event' | 'at' | 'detail'> => ({
  queue_id: mail.queue_id,
  direction: mail.direction,
  domain: mail.domain,
  domain_id: mail.domain_id,
  sender: mail.sender,
  recipients: mail.recipients,
  from: mail.from,
  subject: mail.subject,
  message_id: null,
  client: mail.client_ip === '' ? null : {ip: mail.client_ip, name: null, helo: mail.helo, tls: null},
  size_bytes: mail.size_bytes,
  score: shownScore(mail.score),
  reason: mail.reason,
  symbols: mail.symbol_scores.map(({name}) => name),
  authentication: mail.authentication,
  reply: null,
  server: null,
  took_ms: null,
  key_id: null,
});

/** Without `arrival` the mail was found in the spool or in Postfix: what else came with it is not known. */
export const heldEvent = ({arrival, ...mail}: NewHeldMail): NewMailEvent => {
  const event: NewMailEvent = {...eventOf(mail), event: 'held', at: mail.arrived_at, detail: ''};
  if (!arrival) return event;
  const {client_name, tls, ...more} = arrival;
  return {...event, ...more, client: event.client && {...event.client, name: client_name, tls}};
};

/** Mail whose bytes were away is held again. */
export const reopenedEvent = (mail: StoredHeldMail, at: string): NewMailEvent => ({
  ...eventOf(mail),
  event: 'held',
  at,
  detail: 'it is there again',
});

export const endedEvent = (mail: StoredHeldMail, {state, at, keyId, delivered}: Ending): NewMailEvent => ({
  ...eventOf(mail),
  event: state === 'gone' ? 'lost' : state,
  at,
  key_id: keyId,
  detail: state === 'gone' ? 'it left Postfix’s hold queue by another hand' : '',
  symbols: strongest(mail),
  ...delivered?.get(mail.queue_id),
});

/** A mail of which nothing else is known any more. */
export const lostEvent = (queueId: string, at: string, detail: string): NewMailEvent => ({
  ...unknownMail,
  event: 'lost',
  at,
  queue_id: queueId,
  detail,
});

const strongest = ({symbol_scores}: StoredHeldMail): string[] =>
  symbol_scores.toSorted((one, other) => Math.abs(other.score) - Math.abs(one.score)).map(({name}) => name);
