// The id of a held mail, and its fields, each declared once: for lists, `quarantine show`, and the rows and the preview of the dashboard.
import type {HeldMail, HeldMailDetail, MailReference} from '../../shared/held-mail.ts';
import {usageError} from '../errors.ts';
import {authenticationMeaning, authenticationText, notVerified} from '../output/authentication-text.ts';
import {actorText, briefTimeText, firstOf, senderText, sizeText, timeText} from '../output/cell-text.ts';
import type {Cell, Tone} from '../output/column.ts';
import {columnsOf, type Field} from '../output/field.ts';
import type {Listed} from '../output/table.ts';

/** Only ids that are safe in a path of the API. */
const shape = /^([A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)\/([0-9A-Za-z]{6,64})$/;

export const mailId = ({node_id, queue_id}: MailReference): string => `${node_id}/${queue_id}`;

/** Undefined for another text. */
export const mailReferenceIn = (text: string): MailReference | undefined => {
  const [, node_id, queue_id] = shape.exec(text) ?? [];
  return node_id === undefined || queue_id === undefined ? undefined : {node_id, queue_id};
};

export const parseMailId = (text: string): MailReference => {
  const mail = mailReferenceIn(text);
  if (mail !== undefined) return mail;
  throw usageError(`${JSON.stringify(text)} is not a mail id: it must be NODE/QUEUE`, 'mfctl quarantine list shows ids');
};

/** One id per line. Text after it is ignored, so that lines of `quarantine list` work too. */
export const parseMailIds = (lines: string): MailReference[] => {
  const words = lines.split('\n').map(line => line.trim().split(/\s+/, 1)[0] ?? '');
  return words.filter((word, at) => word !== '' && !(at === 0 && word === 'ID')).map(parseMailId);
};

/** A held mail; members that the list leaves out may not have been read yet. */
type ShownMail = HeldMail & Partial<HeldMailDetail>;

/** The style of its score depends on the thresholds of its domain. */
interface HeldMailField extends Field<ShownMail, (mail: HeldMail) => Tone | undefined> {
  /** In the preview of the dashboard, if it has another word for it. */
  previewLabel?: string;
  /** In details, where that is not the cell. Undefined until it has been read. */
  value?(mail: ShownMail): Cell | readonly string[];
}

/** The members of a held mail, of which two pairs are shown together. */
export type HeldMailFieldName =
  | Exclude<keyof HeldMailDetail, 'queue_id' | 'direction' | 'client_ip' | 'helo' | 'symbol_scores' | 'recipient_states'>
  | 'id'
  | 'client';

/** In the order of columns, and of `quarantine show`. A screen of this width has more of the time, and of subject and addresses. */
export const heldMailFields = (screenWidth = 0): Readonly<Record<HeldMailFieldName, HeldMailField>> => {
  const hasRoom = screenWidth >= 130;
  // Subject and addresses get their width before further columns appear.
  const isEasy = screenWidth >= 100;
  return {
    id: {label: 'ID', cell: mailId, column: {}},
    arrived_at: {
      label: 'Arrived',
      cell: mail => timeText(mail.arrived_at),
      column: {brief: mail => briefTimeText(mail.arrived_at)},
      screen: {width: hasRoom ? 20 : 12, cell: mail => (hasRoom ? timeText : briefTimeText)(mail.arrived_at)},
    },
    score: {
      label: 'Score',
      cell: mail => mail.score,
      column: {align: 'right'},
      screen: {width: 6, cell: ({score}) => Math.round(score * 100) / 100, style: (mail, toneOf) => toneOf(mail)},
    },
    reason: {
      label: 'Reason',
      previewLabel: 'Held for',
      cell: mail => mail.reason,
      column: {dropRank: 1},
      screen: {width: 8, dropRank: 5},
    },
    domain: {label: 'Domain', cell: ({domain, direction}) => domain && `${domain} (${direction})`},
    sender: {
      label: 'Sender',
      cell: mail => senderText(mail.sender),
      column: {isFlexible: true},
      screen: {width: isEasy ? 20 : 12, grow: 3, dropRank: 7},
    },
    from: headerFrom,
    recipients: {
      label: 'Recipients',
      previewLabel: 'To',
      cell: mail => firstOf(mail.recipients),
      value: mail => [...heldFor(mail), ...doneFor(mail.recipient_states)],
      column: {title: 'TO', wide: mail => mail.recipients.join(', '), isFlexible: true, endsInCount: true, dropRank: 2},
      screen: {width: isEasy ? 18 : 12, grow: 2, dropRank: 6},
    },
    subject: {
      label: 'Subject',
      cell: mail => mail.subject,
      column: {isFlexible: true},
      screen: {width: isEasy ? 36 : 14, grow: 5},
    },
    client: {label: 'Client', cell: ({client_ip, helo}) => client_ip && `${client_ip} (${helo})`},
    authentication: {
      label: 'Verified',
      cell: ({authentication: found}) => (found === null ? notVerified : found && authenticationText(found)),
      value: ({authentication: found}) =>
        found === null ? notVerified : found && [authenticationText(found), authenticationMeaning(found)],
    },
    size_bytes: {
      label: 'Size',
      cell: mail => sizeText(mail.size_bytes),
      column: {sortBy: mail => mail.size_bytes, align: 'right', isWideOnly: true},
      screen: {width: 10, dropRank: 4},
    },
    node_id: {label: 'Node', cell: mail => mail.node_id, screen: {width: 12, dropRank: 3}},
    symbols: {
      label: 'Symbols',
      cell: mail => mail.symbols.join(' '),
      column: {isWideOnly: true},
      screen: {width: 30, grow: 2, dropRank: 1},
    },
    release_requested: {
      label: 'Asked for',
      cell: ({release_requested: isRequested}) => (isRequested ? 'by a recipient' : undefined),
      column: {title: 'ASKED', isWideOnly: true},
    },
  };
};

/** Those who have asked for it are marked: `b@example.com (asked for it 2026-03-01T09:30:00Z)`. */
const heldFor = ({recipients, recipient_states: states}: ShownMail): string[] =>
  recipients.map(address => {
    const asked = states?.find(one => one.address === address)?.requested_at ?? null;
    return asked === null ? address : `${address} (asked for it ${timeText(asked)})`;
  });

/** For whom the mail is not held any more: `b@example.com (released 2026-03-01T09:30:00Z by key 5)`. */
const doneFor = (states: HeldMailDetail['recipient_states']): string[] =>
  (states ?? [])
    .filter(({state}) => state !== 'held')
    .map(({address, state, acted_at, acted_by}) => {
      const by = acted_by === null ? '' : ` ${actorText({acted_by_key_id: acted_by})}`;
      return `${address} (${state} ${timeText(acted_at)}${by})`;
    });

const headerFrom: HeldMailField = {
  label: 'From',
  cell: mail => firstOf(mail.from ?? []),
  value: mail => mail.from ?? 'not read yet',
  column: {wide: mail => (mail.from ?? []).join(', '), isWideOnly: true},
};

export const mailFields = [
  ...['node_id', 'queue_id', 'sender', 'from', 'recipients', 'subject', 'score', 'symbols', 'reason'],
  ...['size_bytes', 'arrived_at', 'release_requested'],
];

export const heldMails: Listed<HeldMail> = {
  fields: mailFields,
  nameOf: mailId,
  columns: columnsOf(Object.values(heldMailFields())),
  none: 'no held mail',
};
