// Rows of held mail, and their conversion to records.
import type {SymbolScore} from '../../../shared/held-mail.ts';
import {comparableAddress, domainOf} from '../../../shared/mail-address.ts';
import type {NewHeldMail, StoredHeldMail} from '../../services/quarantine/stored-mail.ts';

/** `is_held` is true while the mail is in the queue; the `folded_…` columns are compared with filters. */
export type HeldMailRow = Omit<StoredHeldMail, 'recipients' | 'symbol_scores' | 'is_utf8' | 'is_eight_bit'> & {
  recipients: string;
  symbols: string;
  is_held: boolean | number;
  is_utf8: boolean | number;
  is_eight_bit: boolean | number;
  sender_domain: string;
  folded_sender: string;
  folded_subject: string;
};

export const recipientRows = ({queue_id, recipients}: NewHeldMail) =>
  [...new Set(recipients.map(comparableAddress))].map(recipient => ({queue_id, recipient}));

export const toRow = ({recipients, symbol_scores, ...mail}: NewHeldMail): HeldMailRow => ({
  ...mail,
  state: 'held',
  is_held: true,
  recipients: JSON.stringify(recipients),
  symbols: JSON.stringify(symbol_scores),
  sender_domain: domainOf(mail.sender) ?? '',
  folded_sender: comparableAddress(mail.sender),
  folded_subject: foldSubject(mail.subject),
  acted_at: null,
  acted_by_key_id: null,
});

/** Subjects are compared without regard to case; the filter is folded in the same way. */
export const foldSubject = (text: string): string => text.normalize('NFC').toLowerCase();

export const rowToHeldMail = (row: HeldMailRow): StoredHeldMail => ({
  queue_id: row.queue_id,
  state: row.state,
  direction: row.direction,
  domain: row.domain,
  domain_id: Number(row.domain_id),
  sender: row.sender,
  recipients: JSON.parse(row.recipients) as string[],
  subject: row.subject,
  score: row.score,
  symbol_scores: JSON.parse(row.symbols) as SymbolScore[],
  reason: row.reason,
  size_bytes: Number(row.size_bytes),
  arrived_at: row.arrived_at,
  is_utf8: Boolean(row.is_utf8),
  is_eight_bit: Boolean(row.is_eight_bit),
  client_ip: row.client_ip,
  helo: row.helo,
  keeper: row.keeper,
  queued_at: row.queued_at === null ? null : Number(row.queued_at),
  sha256: row.sha256,
  acted_at: row.acted_at,
  acted_by_key_id: row.acted_by_key_id === null ? null : Number(row.acted_by_key_id),
});
