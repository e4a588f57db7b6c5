// Port to the counts and reports in the store. A store of one node has what that node counted, and what others gave to it for a report;
// the store of all nodes has everything.
import type {MailCount} from './counted-mail.ts';

/** What one report is about. */
export interface ReportSubject {
  /** The UTC day, as 2026-03-01. */
  day: string;
  policy_domain: string;
}

/** A count with the number of the node that has counted it, and the batch in which it is reported; empty before. */
export interface NodeCount extends MailCount {
  origin: number;
  batch: string;
}

/** Counts of one node and subject that are reported together, and the number of the node that does it. */
export interface Batch extends ReportSubject {
  batch: string;
  holder: number;
  /** Since when the holder has them, or is to have them; ISO 8601. */
  held_at: string;
}

export interface ReportAddress {
  address: string;
  /** `refused`: for good. `left out`: it does not want this report, or has refused another one. */
  state: 'waiting' | 'sent' | 'refused' | 'left out';
  /** What the server said, or why the address is left out. */
  detail: string;
}

export interface StoredReport extends ReportSubject {
  /** `<day>.<policy domain>.<8 hex>@<domain>` */
  id: string;
  /** The number of the node that sends it. */
  holder: number;
  /** `sent`: to one address at least. `refused`: by all of them. `given up`: none could be reached in time. */
  state: 'waiting' | 'sent' | 'refused' | 'given up';
  addresses: ReportAddress[];
  /** The number of mails. */
  count: number;
  created_at: string;
  attempts: number;
  next_at: string;
  ended_at: string | null;
}

/** A source address in the counts of one domain, over some days. */
export interface SourceSummary {
  source_ip: string;
  count: number;
  spf_aligned: number;
  dkim_aligned: number;
  passed: number;
  held: number;
  rejected: number;
}

/** The totals of all sources, and those with the most mails. */
export interface Summary {
  count: number;
  passed: number;
  source_count: number;
  sources: SourceSummary[];
}

/** An address that wants reports about a domain. */
interface Recipient {
  address: string;
  policy_domain: string;
}

export interface DmarcReads {
  /** Subjects before `day` with counts that belong to no batch yet: of one node, or of all. */
  openSubjects(day: string, origin: number | undefined): Promise<ReportSubject[]>;
  /** Batches of the node that another one holds and has not confirmed. */
  unconfirmed(origin: number): Promise<Batch[]>;
  /** Counts of a batch that its holder has not confirmed, at most `limit`. */
  unconfirmedCounts(batch: string, limit: number): Promise<NodeCount[]>;
  /** Whether the holder may have got counts of the batch that it has not confirmed. */
  isOffered(batch: string): Promise<boolean>;
  /** Subjects with counts that the node has held since `before` or longer, in no report yet. */
  heldSubjects(holder: number, before: string): Promise<ReportSubject[]>;
  /** Within a transaction nobody else takes them over. */
  heldCounts(subject: ReportSubject, holder: number): Promise<NodeCount[]>;
  reportedCounts(id: string): Promise<NodeCount[]>;
  /** All counts of the subject, reported or not: of one node, or of all. */
  countsAbout(subject: ReportSubject, origin: number | undefined): Promise<NodeCount[]>;
  /** Newest first. */
  listReports(page: {limit: number; offset: number}): Promise<{reports: StoredReport[]; total: number}>;
  /** Reports that the node has to send by `now`. */
  dueReports(holder: number, now: string): Promise<StoredReport[]>;
  /** Whether the address has refused a report about the domain for good since then. */
  hasRefused(to: Recipient, since: string): Promise<boolean>;
  /** What these nodes counted for one domain. */
  summary(choice: {domain: string; since: string; origin: number | undefined}): Promise<Summary>;
}

export interface DmarcStore extends DmarcReads {
  /** Adds to the counts of the node that belong to no batch. */
  add(counts: readonly MailCount[], origin: number): Promise<void>;
  /** Puts open counts of the subject, of one node or of all, into a batch. */
  assign(batch: Batch, origin: number | undefined): Promise<void>;
  /** From now on the holder may have got counts of the batch. */
  offer(batch: string): Promise<void>;
  /** Gives the counts that are not confirmed to another holder. */
  reassign(batch: string, holder: number): Promise<void>;
  /** The holder has stored these counts, or all of the batch. */
  confirm(batch: string, digests?: readonly string[]): Promise<void>;
  /** Takes counts of another node; those that are there already are left alone. */
  take(batch: Batch, counts: readonly NodeCount[]): Promise<void>;
  /** What nodes that are not among the `living` hold and have to send is held by `to`. */
  adopt(living: readonly number[], to: number): Promise<void>;
  /** Stores a report, and puts the counts that its node holds for the subject into it. */
  insertReport(report: StoredReport): Promise<void>;
  /** Nobody wants a report of the counts that the node holds for the subject. */
  leaveOut(subject: ReportSubject, holder: number): Promise<void>;
  /** Changes a report that is waiting. */
  updateReport(report: StoredReport): Promise<void>;
  noteRefusal(from: Recipient, at: string): Promise<void>;
  /** Deletes what is about days before `day`. */
  forget(day: string): Promise<void>;
}
