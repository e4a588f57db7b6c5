// Entries of the event log as mfctl knows them: each of their fields is declared once.
import type {MailEvent} from '../../shared/mail-event.ts';
import type {MailEventName} from '../../shared/mail-event-name.ts';
import {briefTimeText, senderText, timeText} from '../output/cell-text.ts';
import type {Tone} from '../output/column.ts';
import {columnsOf, type Field} from '../output/field.ts';
import type {Listed} from '../output/table.ts';

/** NODE/QUEUE; null before the content of a mail came. */
export const mailOf = ({node_id, queue_id}: Pick<MailEvent, 'node_id' | 'queue_id'>): string | null =>
  queue_id === null ? null : `${node_id}/${queue_id}`;

const tones: Partial<Record<MailEventName, Tone>> = {rejected: 'warn', refused: 'warn', lost: 'warn', bounced: 'warn'};
const toneOf = ({event}: MailEvent): Tone | undefined => tones[event];

/** In the order of columns. */
export const eventFields: readonly Field<MailEvent>[] = [
  {label: 'At', cell: event => timeText(event.at), column: {brief: event => briefTimeText(event.at)}},
  {label: 'Event', cell: ({event}) => event, column: {tone: toneOf}, screen: {width: 10, style: toneOf}},
  {label: 'Mail', cell: mailOf, column: {dropRank: 4}, screen: {width: 21, dropRank: 2}},
  {label: 'Node', cell: ({node_id}) => node_id, column: {isWideOnly: true}},
  {label: 'Sender', cell: ({sender}) => senderText(sender), column: {isFlexible: true}, screen: {width: 12, grow: 3}},
  {
    label: 'To',
    cell: ({recipients: [first = ''], recipient_count: count}) => (count > 1 ? `${first} +${count - 1}` : first),
    column: {isFlexible: true, endsInCount: true, wide: ({recipients}) => recipients.join(', ')},
    screen: {width: 12, grow: 3},
  },
  {
    label: 'Subject',
    cell: ({subject}) => subject,
    column: {isFlexible: true, dropRank: 2},
    screen: {width: 14, grow: 5, dropRank: 5},
  },
  {label: 'Reply', cell: ({reply}) => reply, column: {isFlexible: true, dropRank: 1}, screen: {width: 14, grow: 4, dropRank: 3}},
  {label: 'Client', cell: ({client}) => client?.ip ?? null, column: {isWideOnly: true}},
  {label: 'Score', cell: ({score}) => score, column: {align: 'right', isWideOnly: true}},
  {label: 'Message-ID', cell: ({message_id}) => message_id, column: {isWideOnly: true}},
];

export const mailEventNames = [
  ...['id', 'at', 'node_id', 'queue_id', 'event', 'direction', 'domain', 'sender', 'recipients', 'recipient_count', 'from'],
  ...['subject', 'message_id', 'client', 'size_bytes', 'score', 'reason', 'symbols', 'authentication', 'reply', 'server'],
  ...['took_ms', 'key_id', 'key_name', 'detail', 'recipients_left'],
];

export const mailEvents: Listed<MailEvent> = {
  fields: mailEventNames,
  nameOf: event => mailOf(event) ?? event.id,
  columns: columnsOf(eventFields),
  none: 'nothing found',
};
