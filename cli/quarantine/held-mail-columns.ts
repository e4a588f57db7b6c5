// Columns of held mail, and the id of one mail.
import type {HeldMail, MailReference} from '../../shared/held-mail.ts';
import {usageError} from '../errors.ts';
import {briefTimeText, firstOf, senderText, sizeText, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import type {Listed} from '../output/table.ts';

/** Only ids that are safe in a path of the API. */
const shape = /^([A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)\/([0-9A-Za-z]{6,64})$/;

export const mailId = ({node_id, queue_id}: MailReference): string => `${node_id}/${queue_id}`;

export const parseMailId = (text: string): MailReference => {
  const [, node_id, queue_id] = shape.exec(text) ?? [];
  if (node_id === undefined || queue_id === undefined)
    throw usageError(`${JSON.stringify(text)} is not a mail id: it must be NODE/QUEUE`, 'mfctl quarantine list shows ids');
  return {node_id, queue_id};
};

/** One id per line. Text after it is ignored, so that lines of `quarantine list` work too. */
export const parseMailIds = (lines: string): MailReference[] => {
  const words = lines.split('\n').map(line => line.trim().split(/\s+/, 1)[0] ?? '');
  return words.filter((word, at) => word !== '' && !(at === 0 && word === 'ID')).map(parseMailId);
};

const mailColumns: Column<HeldMail>[] = [
  {title: 'ID', cell: mailId},
  {title: 'ARRIVED', cell: mail => timeText(mail.arrived_at), brief: mail => briefTimeText(mail.arrived_at)},
  {title: 'SCORE', cell: mail => mail.score, align: 'right'},
  {title: 'REASON', cell: mail => mail.reason, dropRank: 1},
  {title: 'FROM', cell: mail => senderText(mail.sender), isFlexible: true},
  {
    title: 'TO',
    cell: mail => firstOf(mail.recipients),
    wide: mail => mail.recipients.join(', '),
    isFlexible: true,
    dropRank: 2,
  },
  {title: 'SUBJECT', cell: mail => mail.subject, isFlexible: true},
  {title: 'SIZE', cell: mail => sizeText(mail.size_bytes), sortBy: mail => mail.size_bytes, align: 'right', isWideOnly: true},
  {title: 'SYMBOLS', cell: mail => mail.symbols.join(' '), isWideOnly: true},
];

export const mailFields = [
  ...['node_id', 'queue_id', 'sender', 'recipients', 'subject', 'score', 'symbols', 'reason'],
  ...['size_bytes', 'arrived_at'],
];

export const heldMails: Listed<HeldMail> = {
  fields: mailFields,
  nameOf: mailId,
  columns: mailColumns,
  none: 'no held mail',
};
