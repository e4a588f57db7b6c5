// What happened to a mail, in sentences that can be read to a caller.
import type {MailEvent} from '../../shared/mail-event.ts';
import type {MailEventName} from '../../shared/mail-event-name.ts';
import {safeLine} from '../../shared/safe-text.ts';
import {plural, senderText, sizeText, timeText} from '../output/cell-text.ts';

/** The lines of one mail, oldest first: whom it is from and to, then what happened. */
export const storyOf = (events: readonly MailEvent[]): string[] => {
  const [first] = events;
  if (!first) return [];
  return [...introduction(first), '', ...events.flatMap(lines)];
};

const introduction = (event: MailEvent): string[] => [
  `From     ${senderText(safeLine(event.sender))}${authorText(event)}`,
  `To       ${event.recipients.map(safeLine).join(', ')}${moreText(event)}`,
  ...(event.subject === null ? [] : [`Subject  ${safeLine(event.subject)}`]),
  ...(event.client === null ? [] : [`Client   ${clientText(event.client)}`]),
  ...(event.message_id === null ? [] : [`Message-ID  ${safeLine(event.message_id)}`]),
];

const authorText = ({from, sender}: MailEvent): string => {
  const others = (from ?? []).filter(address => address !== sender.toLowerCase());
  return others.length === 0 ? '' : ` (in the header: ${others.map(safeLine).join(', ')})`;
};

const moreText = ({recipients, recipient_count: count}: MailEvent): string =>
  count > recipients.length ? ` and ${count - recipients.length} more` : '';

const clientText = ({ip, name, helo, tls}: NonNullable<MailEvent['client']>): string =>
  [
    `${ip}${name === null ? '' : ` (${safeLine(name)})`}`,
    `said it is ${safeLine(helo)}`,
    ...(tls === null ? [] : [tls ? 'encrypted' : 'not encrypted']),
  ].join(', ');

const what: Record<MailEventName, string> = {
  relayed: 'delivered to the server',
  held: 'held',
  rejected: 'rejected: nobody got it, and the sender was told',
  refused: 'refused: nobody got it, and the sender was told',
  deferred: 'not taken now: the sender has to try again',
  report: 'read as a DMARC report',
  released: 'released',
  discarded: 'discarded: nobody got it',
  expired: 'deleted, as it was held for too long',
  lost: 'gone from where it was held',
  sent: 'delivered by Postfix',
  bounced: 'returned to the sender by Postfix',
  postponed: 'not delivered yet, Postfix tries again',
};

const lines = (event: MailEvent): string[] => [
  `${timeText(event.at)}  ${whatText(event)}${placeText(event)}${reasonText(event)}${byText(event)}`,
  ...[judgementText(event), authenticationText(event), answerText(event), safeLine(event.detail)]
    .filter(text => text !== '')
    .map(text => `                      ${text}`),
];

/** Without a server it was Postfix that asked mfd. */
const whatText = ({event, server}: MailEvent): string =>
  event === 'relayed' && server === null ? 'let through: Postfix delivers it' : what[event];

/** Postfix tells of each recipient on its own. */
const placeText = ({event, recipients}: MailEvent): string =>
  event === 'sent' || event === 'bounced' || event === 'postponed' ? `: ${recipients.map(safeLine).join(', ')}` : '';

const reasonText = ({event, reason, size_bytes}: MailEvent): string =>
  event === 'held' && reason !== null ? ` for ${reason}${size_bytes === null ? '' : ` (${sizeText(size_bytes)})`}` : '';

const byText = ({key_id, key_name}: MailEvent): string =>
  key_id === null ? '' : ` with the key ${key_name === null ? `${key_id}, deleted` : safeLine(key_name)}`;

const judgementText = ({event, score, symbols}: MailEvent): string =>
  score === null || event === 'released' || event === 'discarded'
    ? ''
    : `score ${score}${symbols.length === 0 ? '' : `: ${symbols.slice(0, 5).map(safeLine).join(', ')}${symbols.length > 5 ? ` and ${plural(symbols.length - 5, 'other symbol')}` : ''}`}`;

const authenticationText = ({event, authentication}: MailEvent): string => {
  if (authentication === null || event === 'released' || event === 'discarded') return '';
  const {spf, dkim, dmarc} = authentication;
  const signatures = dkim.length === 0 ? 'none' : dkim.map(({result, domain}) => `${result} (${safeLine(domain)})`).join(', ');
  return `SPF ${spf.result} (${safeLine(spf.domain)}), DKIM ${signatures}, DMARC ${dmarc.result}`;
};

const answerText = ({reply, server}: MailEvent): string => {
  if (reply === null) return '';
  return server === null ? `the client was told: ${safeLine(reply)}` : `${server} said: ${safeLine(reply)}`;
};
