// What happened to one mail, in sentences that can be read to a caller.
import type {MailEvent} from '../../shared/mail-event.ts';
import type {MailEventName} from '../../shared/mail-event-name.ts';
import {safeLine} from '../../shared/safe-text.ts';
import {authenticationMeaning, authenticationText, notVerified} from '../output/authentication-text.ts';
import {durationWords, namedActorText, plural, senderText, sizeText, timeText} from '../output/cell-text.ts';
import {type Detail, renderDetails} from '../output/table.ts';
import {mailOf} from './event-fields.ts';

/** Of the entries of one mail, oldest first. What mail and servers say is indented: no line of it looks like one of mfctl. */
export const storyOf = (events: readonly MailEvent[]): string =>
  `${renderDetails(mailDetails(events))}\nWhat happened:\n${happened(events)
    .map(({text, isFirst, time}) => `  ${isFirst ? time : ' '.repeat(20)}  ${text}\n`)
    .join('')}`;

interface HappenedLine {
  /** Both are safe. */
  text: string;
  time: string;
  /** Of its entry. */
  isFirst: boolean;
}

/** What is known of the mail. Entries about its end do not have everything that the first one has. */
export const mailDetails = (events: readonly MailEvent[]): Detail[] => {
  const first = <V>(read: (event: MailEvent) => V | null): V | null => events.map(read).find(value => value !== null) ?? null;
  const [event] = events;
  if (!event) return [];
  const details: (readonly [label: string, value: Detail[1] | undefined])[] = [
    ['ID', mailOf(event) ?? `none: node ${event.node_id} refused it before its content`],
    ['Domain', event.domain && `${event.domain}${event.direction === null ? '' : ` (${event.direction})`}`],
    ['Sender', senderText(event.sender)],
    ['From', first(({from}) => from) ?? undefined],
    ['Recipients', recipientTexts(event)],
    ['Subject', first(({subject}) => subject)],
    ['Message-ID', first(({message_id}) => message_id)],
    ['Client', first(({client}) => client && clientText(client))],
    ['Verified', verifiedTexts(event)],
    ['Size', first(({size_bytes}) => size_bytes && sizeText(size_bytes))],
  ];
  return details.flatMap(([label, value]) => (value === undefined || value === null ? [] : [[label, value] as const]));
};

const recipientTexts = ({recipients, recipient_count: count}: MailEvent): string[] => [
  ...recipients,
  ...(count > recipients.length ? [`and ${plural(count - recipients.length, 'other')}`] : []),
];

/** Without `tls` the entry is from the row of a held mail, which has no name of the client. */
const clientText = ({ip, name, helo, tls}: NonNullable<MailEvent['client']>): string =>
  [
    name === null ? ip : `${ip}, ${name}, which DNS confirms`,
    ...(name === null && tls !== null ? ['no name that DNS confirms'] : []),
    ...(helo === '' ? [] : [`called itself ${helo}`]),
    ...(tls === null ? [] : [tls ? 'encrypted' : 'not encrypted']),
  ].join('; ');

const verifiedTexts = ({authentication, score}: MailEvent): readonly string[] | string | undefined => {
  if (authentication !== null) return [authenticationText(authentication), authenticationMeaning(authentication)];
  return score === null ? undefined : notVerified;
};

export const happened = (events: readonly MailEvent[]): HappenedLine[] =>
  events.flatMap(event =>
    [whatText(event) + recipientsText(event, events), leftText(event), scoreText(event), answerText(event), event.detail]
      .filter(text => text !== '')
      .map((text, at) => ({text: safeLine(text), time: safeLine(timeText(event.at) ?? ''), isFirst: at === 0})),
  );

const whatText = (event: MailEvent): string => {
  const {server, reason, node_id} = event;
  switch (event.event) {
    case 'relayed':
      return `${node_id} passed it on to ${server ?? 'Postfix, which delivers it'}`;
    case 'held':
      return `${node_id} held it${reason === null ? '' : ` for ${reason}`}`;
    case 'rejected':
      return `${node_id} rejected it: nobody got it, and its sender was told`;
    case 'refused':
      return `${server ?? node_id} refused it: nobody got it, and its sender was told`;
    case 'deferred':
      return `${server ?? node_id} did not take it now: the server of its sender has to try again`;
    case 'report':
      return `${node_id} read it as a DMARC report`;
    case 'released':
      return `released${keyText(event)}${server === null ? '' : `, and passed on to ${server}`}`;
    case 'discarded':
      return `discarded${keyText(event)}: nobody got it`;
    case 'expired':
      return 'deleted, as nobody released it within the days that mail is held: nobody got it';
    case 'lost':
      return `not held by ${node_id} any more, without an action of mfd`;
    case 'sent':
      return `Postfix passed it on${server === null ? '' : ` to ${server}`}`;
    case 'bounced':
      return 'Postfix gave up, and returned it to its sender';
    case 'postponed':
      return 'Postfix could not pass it on yet, and tries again';
    case 'release_requested':
      return 'an administrator was asked for it by the recipient';
    default:
      return event.event satisfies never;
  }
};

const keyText = (event: MailEvent): string => (event.key_id === null ? '' : ` ${namedActorText(event)}`);

/** Where an entry is about some of the recipients only. */
const recipientsText = ({recipients}: MailEvent, [first]: readonly MailEvent[]): string =>
  recipients.length === 0 || recipients.join() === first?.recipients.join() ? '' : ` (for ${recipients.join(', ')})`;

const judged: ReadonlySet<MailEventName> = new Set(['relayed', 'held', 'rejected', 'deferred', 'report']);
const mostSymbols = 5;

const leftText = ({recipients_left: left}: MailEvent): string =>
  !left ? '' : `still held for ${plural(left, 'other recipient')}`;

const scoreText = ({event, score, symbols}: MailEvent): string => {
  if (score === null || !judged.has(event)) return '';
  const others = symbols.length - mostSymbols;
  const names = [...symbols.slice(0, mostSymbols), ...(others > 0 ? [plural(others, 'other symbol')] : [])];
  return `scanner: score ${score}${names.length === 0 ? '' : ` (${names.join(', ')})`}`;
};

const slowMs = 2000;

/** Word for word. */
const answerText = ({reply, server, took_ms}: MailEvent): string => {
  if (reply === null) return '';
  const time = took_ms !== null && took_ms >= slowMs ? ` after ${durationWords(Math.round(took_ms / 1000))}` : '';
  return server === null ? `the sending server was told${time}: ${reply}` : `${server} answered${time}: ${reply}`;
};
