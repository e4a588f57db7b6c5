// Rows of held mail, and their conversion to records.
import {ascending} from '../../../shared/collections.ts';
import type {HeldMail, SymbolScore} from '../../../shared/held-mail.ts';
import type {HoldFilter} from '../../../shared/hold-filter.ts';
import {comparableAddress, domainOf} from '../../../shared/mail-address.ts';
import type {MailAuthentication} from '../../../shared/mail-authentication.ts';
import {type AccessScope, domainIdsIn} from '../../../shared/scopes.ts';
import {type HeldCount, type NewHeldMail, type StoredHeldMail, shownScore} from '../../services/quarantine/stored-mail.ts';
import {type Db, type Dialect, insertOwn, query} from './db.ts';

/** `is_held` is true while the mail is in the queue; the `folded_…` columns are compared with filters. */
export type HeldMailRow = Omit<
  StoredHeldMail,
  'from' | 'recipients' | 'symbol_scores' | 'is_utf8' | 'is_eight_bit' | 'authentication'
> & {
  /** Null until the header of a mail that was held by an earlier version has been read. */
  from_addresses: string | null;
  recipients: string;
  symbols: string;
  authentication: string | null;
  is_held: boolean | number;
  is_utf8: boolean | number;
  is_eight_bit: boolean | number;
  sender_domain: string;
  folded_sender: string;
  folded_subject: string;
  folded_recipients?: string[];
  from_domain?: string | null;
  folded_from?: string[] | null;
};

/** The columns that a new row has. */
export const arrivalColumns = [
  'queue_id',
  'state',
  'is_held',
  'direction',
  'domain',
  'domain_id',
  'sender',
  'sender_domain',
  'folded_sender',
  'from_addresses',
  'recipients',
  'subject',
  'folded_subject',
  'reason',
  'symbols',
  'score',
  'size_bytes',
  'arrived_at',
  'is_utf8',
  'is_eight_bit',
  'client_ip',
  'helo',
  'authentication',
  'keeper',
  'sha256',
] as const;

/** Each member is named: V8 needs many times as long to copy those of an object. */
export const toRow = (mail: NewHeldMail): Record<(typeof arrivalColumns)[number], unknown> => ({
  queue_id: mail.queue_id,
  state: 'held',
  is_held: true,
  direction: mail.direction,
  domain: mail.domain,
  domain_id: mail.domain_id,
  sender: mail.sender,
  sender_domain: domainOf(mail.sender) ?? '',
  folded_sender: comparableAddress(mail.sender),
  from_addresses: mail.from && JSON.stringify(mail.from),
  recipients: JSON.stringify(mail.recipients),
  subject: mail.subject,
  folded_subject: foldSubject(mail.subject),
  reason: mail.reason,
  symbols: JSON.stringify(mail.symbol_scores),
  score: mail.score,
  size_bytes: mail.size_bytes,
  arrived_at: mail.arrived_at,
  is_utf8: mail.is_utf8,
  is_eight_bit: mail.is_eight_bit,
  client_ip: mail.client_ip,
  helo: mail.helo,
  authentication: mail.authentication && JSON.stringify(mail.authentication),
  keeper: mail.keeper,
  sha256: mail.sha256,
});

/** Subjects are compared without regard to case; the filter is folded in the same way. */
export const foldSubject = (text: string): string => text.normalize('NFC').toLowerCase();

export const foldRecipients = (recipients: readonly string[]): string[] => [...new Set(recipients.map(comparableAddress))];

/**
 * What filters name of a header From, in two columns: the domain of the first address, as an index of one text can be counted without its
 * rows, and the addresses with the domains of the others. No domain is in both.
 */
export const foldFrom = (from: readonly string[]): {from_domain: string | null; folded_from: string[]} => {
  const addresses = from.filter(address => address.includes('@'));
  const [first = null, ...others] = new Set(addresses.map(address => address.slice(address.lastIndexOf('@') + 1)));
  return {from_domain: first, folded_from: [...new Set(addresses), ...others]};
};

export const rowToHeldMail = ({
  from_addresses,
  recipients,
  symbols,
  authentication,
  is_held,
  sender_domain,
  folded_sender,
  folded_subject,
  folded_recipients,
  from_domain,
  folded_from,
  ...mail
}: HeldMailRow): StoredHeldMail => ({
  ...mail,
  from: fromOf(from_addresses),
  recipients: JSON.parse(recipients) as string[],
  symbol_scores: JSON.parse(symbols) as SymbolScore[],
  // A database of an earlier version, which is repaired, has no such column.
  authentication: authentication ? (JSON.parse(authentication) as MailAuthentication) : null,
  is_utf8: Boolean(mail.is_utf8),
  is_eight_bit: Boolean(mail.is_eight_bit),
});

const fromOf = (addresses: string | null | undefined): string[] | null =>
  // A database of an earlier version, which is repaired, has no such column.
  addresses ? (JSON.parse(addresses) as string[]) : null;

export const mailColumns =
  'queue_id, sender, from_addresses, recipients, subject, score, symbols, reason, size_bytes, arrived_at';

/** Columns of an entry of the list, besides the node. */
export const listColumns = (nodeColumn?: 'node_id'): string => `${mailColumns}, ${isRequested(nodeColumn)} AS release_requested`;

/** A condition that a recipient has asked for the mail. */
export const isRequested = (nodeColumn?: 'node_id'): string => {
  const ofNode = nodeColumn === undefined ? '' : `request.${nodeColumn} = held_mail.${nodeColumn} AND `;
  return `EXISTS (SELECT 1 FROM recipient_request AS request WHERE ${ofNode}request.queue_id = held_mail.queue_id)`;
};

export type ListedRow = Omit<HeldMail, 'from' | 'recipients' | 'symbols' | 'release_requested'> & {
  release_requested: boolean | number;
  from_addresses: string | null;
  recipients: string;
  symbols: string;
};

/** Other columns of the row are left out. */
export const listedMail = ({
  node_id,
  queue_id,
  sender,
  from_addresses,
  recipients,
  subject,
  score,
  symbols,
  reason,
  size_bytes,
  arrived_at,
  release_requested,
}: ListedRow): HeldMail => ({
  node_id,
  queue_id,
  sender,
  from: fromOf(from_addresses),
  recipients: JSON.parse(recipients) as string[],
  subject,
  score: shownScore(score),
  symbols: (JSON.parse(symbols) as SymbolScore[]).map(({name}) => name),
  reason,
  size_bytes,
  arrived_at,
  release_requested: Boolean(release_requested),
});

type Counted = Pick<HeldCount, 'domain_id' | 'domain' | 'reason' | 'size_bytes'>;

export const adjustCounts = async (tx: Db, mail: Counted, sign: 1 | -1): Promise<void> =>
  adjustSums(tx, [{...mail, count: sign, size_bytes: sign * mail.size_bytes}]);

const countColumns = ['domain_id', 'domain', 'reason', 'count', 'size_bytes'];

const adding = ({own}: Dialect): string => `ON CONFLICT (${own.column}domain_id, domain, reason)
DO UPDATE SET count = held_count.count + excluded.count, size_bytes = held_count.size_bytes + excluded.size_bytes`;

/** Applies many changes at once: most mails share their domain and reason with others. */
export const adjustSums = async (tx: Db, changes: readonly HeldCount[]): Promise<void> => {
  const {dialect} = tx;
  // In one order, so that two transactions on the same totals never wait for each other.
  const sums = sumsOf(changes).toSorted(
    (a, b) => a.domain_id - b.domain_id || ascending(a.domain, b.domain) || ascending(a.reason, b.reason),
  );
  await query(tx, `${insertOwn(dialect, 'held_count', countColumns)} ${adding(dialect)}`, [dialect.json(sums)]);
};

const sumsOf = (changes: readonly HeldCount[]): HeldCount[] => {
  const sums = new Map<string, HeldCount>();
  for (const {domain_id, domain, reason, count, size_bytes} of changes) {
    const pair = JSON.stringify([domain_id, domain, reason]);
    const sum = sums.get(pair) ?? {domain_id, domain, reason, count: 0, size_bytes: 0};
    sums.set(pair, {...sum, count: sum.count + count, size_bytes: sum.size_bytes + size_bytes});
  }
  return [...sums.values()];
};

export const readCounts = async (db: Db): Promise<HeldCount[]> =>
  query<HeldCount>(
    db,
    `SELECT ${countColumns.join(', ')} FROM held_count WHERE ${db.dialect.own.condition}count > 0 ORDER BY domain, reason, domain_id`,
  );

export interface SqlCondition {
  sql: string;
  bindings: (string | number)[];
}

/** A query for the sum of the totals. */
export const totalOf = ({domain, reason, node}: HoldFilter, scope: AccessScope, nodeColumn?: 'node_id'): SqlCondition => {
  const parts = ['count > 0'];
  const bindings: SqlCondition['bindings'] = [];
  for (const [column, value] of Object.entries({...(nodeColumn && {[nodeColumn]: node}), domain, reason})) {
    if (value === undefined) continue;
    parts.push(`${column} = ?`);
    bindings.push(value);
  }
  addScope({parts, bindings}, scope);
  return {sql: `SELECT coalesce(sum(count), 0) AS total FROM held_count WHERE ${parts.join(' AND ')}`, bindings};
};

const addScope = ({parts, bindings}: {parts: string[]; bindings: SqlCondition['bindings']}, scope: AccessScope): void => {
  const ids = domainIdsIn(scope);
  if (ids === undefined) return;
  parts.push(ids.length === 0 ? 'false' : ids.length === 1 ? 'domain_id = ?' : `domain_id IN (${ids.map(() => '?').join(', ')})`);
  bindings.push(...ids);
};

/** The conditions that all makes have in common. `is_held` is written literally: a partial index needs it. */
export const heldFilter = (filter: HoldFilter, scope: AccessScope): SqlCondition => {
  const parts = ['is_held'];
  const bindings: SqlCondition['bindings'] = [];
  const add = (sql: string, value: string | number | undefined) => {
    if (value === undefined) return;
    parts.push(sql);
    bindings.push(value);
  };
  addScope({parts, bindings}, scope);
  add('domain = ?', filter.domain);
  add('reason = ?', filter.reason);
  add(filter.sender === '' || filter.sender?.includes('@') ? 'folded_sender = ?' : 'sender_domain = ?', filter.sender);
  add('arrived_at >= ?', filter.since);
  add('arrived_at < ?', filter.until);
  add('score >= ?', filter.min_score);
  add('score <= ?', filter.max_score);
  return {sql: parts.join(' AND '), bindings};
};
