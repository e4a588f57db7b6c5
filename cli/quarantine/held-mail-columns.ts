// The id of a held mail, and its fields, each declared once: for lists, `quarantine show`, and the rows and the preview of the dashboard.
import type {HeldMail, HeldMailDetail, MailReference} from '../../shared/held-mail.ts';
import {usageError} from '../errors.ts';
import {authenticationMeaning, authenticationText, notVerified} from '../output/authentication-text.ts';
import {briefTimeText, firstOf, senderText, sizeText, timeText} from '../output/cell-text.ts';
import type {Cell, Column} from '../output/column.ts';
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

/** A held mail; members that the list leaves out may not have been read yet. */
type ShownMail = HeldMail & Partial<HeldMailDetail>;

interface HeldMailField {
  /** In `quarantine show`. */
  label?: string;
  /** In the preview of the dashboard, if it has another word for it. */
  previewLabel?: string;
  /** Undefined until it has been read. */
  value(mail: ShownMail): Cell | readonly string[];
  /** The column of `quarantine list`, where it has one. */
  column?: Omit<Column<HeldMail>, 'cell'> & {cell?: Column<HeldMail>['cell']};
  /** The column of the dashboard, where it has one: of this width at least, and of the other one from a width of the screen on. */
  screen?: {
    width: number;
    roomy?: {from: number; width: number};
    grow?: number;
    dropRank?: number;
    title?: string;
    cell?(mail: HeldMail): Cell;
  };
}

/** The members of a held mail, of which two pairs are shown together. */
export type HeldMailFieldName =
  | Exclude<keyof HeldMailDetail, 'queue_id' | 'direction' | 'client_ip' | 'helo' | 'symbol_scores'>
  | 'id'
  | 'client';

/** Subject and addresses get their width before further columns appear. */
const easyFrom = 100;

/** In the order of columns, and of `quarantine show`. */
export const heldMailFields: Readonly<Record<HeldMailFieldName, HeldMailField>> = {
  id: {label: 'ID', value: mailId, column: {title: 'ID'}},
  arrived_at: {
    label: 'Arrived',
    value: mail => timeText(mail.arrived_at),
    column: {title: 'ARRIVED', brief: mail => briefTimeText(mail.arrived_at)},
    screen: {width: 12, roomy: {from: 130, width: 20}},
  },
  score: {
    label: 'Score',
    value: mail => mail.score,
    column: {title: 'SCORE', align: 'right'},
    screen: {width: 6, cell: ({score}) => Math.round(score * 100) / 100},
  },
  reason: {
    label: 'Reason',
    previewLabel: 'Held for',
    value: mail => mail.reason,
    column: {title: 'REASON', dropRank: 1},
    screen: {width: 8, dropRank: 5},
  },
  domain: {label: 'Domain', value: ({domain, direction}) => domain && `${domain} (${direction})`},
  sender: {
    label: 'Sender',
    previewLabel: 'From',
    value: mail => senderText(mail.sender),
    column: {title: 'FROM', isFlexible: true},
    screen: {width: 12, roomy: {from: easyFrom, width: 20}, grow: 3, dropRank: 7},
  },
  recipients: {
    label: 'Recipients',
    previewLabel: 'To',
    value: mail => mail.recipients,
    column: {
      title: 'TO',
      cell: mail => firstOf(mail.recipients),
      wide: mail => mail.recipients.join(', '),
      isFlexible: true,
      dropRank: 2,
    },
    screen: {width: 12, roomy: {from: easyFrom, width: 18}, grow: 2, dropRank: 6},
  },
  subject: {
    label: 'Subject',
    value: mail => mail.subject,
    column: {title: 'SUBJECT', isFlexible: true},
    screen: {width: 14, roomy: {from: easyFrom, width: 36}, grow: 5},
  },
  client: {label: 'Client', value: ({client_ip, helo}) => client_ip && `${client_ip} (${helo})`},
  authentication: {
    label: 'Verified',
    value: ({authentication: found}) =>
      found === null ? notVerified : found && [authenticationText(found), authenticationMeaning(found)],
  },
  size_bytes: {
    label: 'Size',
    value: mail => sizeText(mail.size_bytes),
    column: {title: 'SIZE', sortBy: mail => mail.size_bytes, align: 'right', isWideOnly: true},
    screen: {width: 10, dropRank: 4},
  },
  node_id: {value: mail => mail.node_id, screen: {title: 'NODE', width: 12, dropRank: 3}},
  symbols: {
    value: mail => mail.symbols.join(' '),
    column: {title: 'SYMBOLS', isWideOnly: true},
    screen: {width: 30, grow: 2, dropRank: 1},
  },
};

export const mailFields = [
  ...['node_id', 'queue_id', 'sender', 'recipients', 'subject', 'score', 'symbols', 'reason'],
  ...['size_bytes', 'arrived_at'],
];

export const heldMails: Listed<HeldMail> = {
  fields: mailFields,
  nameOf: mailId,
  columns: Object.values(heldMailFields).flatMap(({value, column}) =>
    column ? [{cell: mail => value(mail) as Cell, ...column}] : [],
  ),
  none: 'no held mail',
};
