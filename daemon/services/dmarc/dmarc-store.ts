// Port to the counts and reports in the store. A store of one node has what that node counted, and what nodes of 0.8 gave to it for a
// report; the store of all nodes has everything.
import type {MailCount} from './counted-mail.ts';

/** What one report is about. */
export interface ReportSubject {
  /** The UTC day, as 2026-03-01. */
  day: string;
  policy_domain: string;
}

/** A count with the number of the node that has counted it, and its batch; empty while mails are still counted in it. */
export interface NodeCount extends MailCount {
  origin: number;
  batch: string;
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
  /** Subjects before `day` with counts that this store reports, in no report yet. */
  unreported(day: string): Promise<ReportSubject[]>;
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
  /** Takes counts of another node, with their batch; those that are there already are left alone. */
  take(counts: readonly NodeCount[]): Promise<void>;
  /**
   * Takes the unreported counts of the subject for one report, and puts those without a batch into this one. Of several nodes that do so
   * at once, one gets them. `insertReport` or `leaveOut` follows in the same transaction.
   */
  claim(subject: ReportSubject, batch: string): Promise<NodeCount[]>;
  /** Stores a report of the counts that were claimed. */
  insertReport(report: StoredReport, batch: string): Promise<void>;
  /** Nobody wants a report of the counts that were claimed. */
  leaveOut(batch: string): Promise<void>;
  /** Reports that nodes which are not among the `living` have to send are sent by `to`. */
  adopt(living: readonly number[], to: number): Promise<void>;
  /** Changes a report that is waiting. */
  updateReport(report: StoredReport): Promise<void>;
  noteRefusal(from: Recipient, at: string): Promise<void>;
  /** Deletes what is about days before `day`. */
  forget(day: string): Promise<void>;
}
