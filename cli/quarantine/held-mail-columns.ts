import type {HeldMail} from '../../shared/held-mail.ts';
import {briefTimeText, firstOf, senderText, sizeText, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import type {Listed} from '../output/resource.ts';
import {mailId} from './mail-id.ts';

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
