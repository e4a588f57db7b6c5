// Message to a webhook, signed by Standard Webhooks 1.0.
import {createHmac} from 'node:crypto';
import type {MailEvent} from '../../../shared/mail-event.ts';

export interface SignedMessage {
  headers: Record<string, string>;
  body: string;
}

interface Message {
  /** The same whenever it is sent again. */
  id: string;
  body: string;
}

/** Receivers refuse a message whose time is more than some minutes away: it is that of the try. */
export const signed = (
  {id, body}: Message,
  {secret, now, version}: {secret: string; now: number; version: string},
): SignedMessage => {
  const timestamp = String(Math.floor(now / 1000));
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    headers: {
      'content-type': 'application/json',
      'user-agent': `mfd/${version}`,
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    },
    body,
  };
};

const maxBytes = 20_000;

/** `number`: see `StoredMailEvent`. */
export const messageOf = (event: MailEvent, number: number): Message => {
  const bodyOf = (data: MailEvent) => JSON.stringify({type: event.event, timestamp: event.at, data: {...data, number}});
  let data = event;
  let body = bodyOf(data);
  for (const shorten of shortenings) {
    if (Buffer.byteLength(body) <= maxBytes) break;
    data = shorten(data);
    body = bodyOf(data);
  }
  return {id: event.id, body};
};

/** One after the other, until the message fits. Strangers write all of these; an entry without them is short enough. */
const shortenings: readonly ((event: MailEvent) => MailEvent)[] = [
  event => ({...event, recipients: event.recipients.slice(0, 1)}),
  event => ({...event, symbols: event.symbols.slice(0, 5)}),
  event => ({...event, subject: event.subject && short(event.subject)}),
  event => ({...event, reply: event.reply && short(event.reply)}),
  event => ({...event, from: event.from?.slice(0, 1) ?? null}),
];

const short = (text: string): string => (text.length > 100 ? `${[...text].slice(0, 100).join('')}…` : text);
