// Aggregate report that somebody else has sent about domains here (RFC 9990, RFC 7489 section 7.2). All of it is a claim by its sender.
import type {MailContent} from '../intake/mail.ts';

/** Numbers of mails, as reports claim them. */
export interface SourceCounts {
  count: number;
  /** Mails that pass DMARC: by SPF, by DKIM or by both. */
  passed: number;
  /** Mails for which SPF passes, for any domain. */
  spf_passed: number;
  /** Mails for which SPF passes for the domain in From. */
  spf_aligned: number;
  dkim_passed: number;
  dkim_aligned: number;
}

export const sumOfCounts = (one: SourceCounts, other: SourceCounts): SourceCounts => ({
  count: one.count + other.count,
  passed: one.passed + other.passed,
  spf_passed: one.spf_passed + other.spf_passed,
  spf_aligned: one.spf_aligned + other.spf_aligned,
  dkim_passed: one.dkim_passed + other.dkim_passed,
  dkim_aligned: one.dkim_aligned + other.dkim_aligned,
});

/** What a report says of the mails from one address with one domain in From. */
export interface ReportedSource extends SourceCounts {
  /** The domain in From, canonical. */
  header_from: string;
  /** Canonical. */
  source_ip: string;
}

export interface ReceivedReport {
  report_id: string;
  policy_domain: string;
  /** First and last second that it is about, since the epoch. */
  begin: number;
  end: number;
  sources: ReportedSource[];
  /** How many rows cannot be read, and are left out. */
  bad_rows: number;
}

/** Why a mail is not a readable report, in words for the log. */
export interface Unreadable {
  unreadable: string;
}

/** What reading one report may take. */
export interface ReadLimits {
  maxUnpackedBytes: number;
  /** Processor time. */
  maxCpuMs: number;
}

/** Reads the report in a mail. Rejects only when the mail itself cannot be read, or has to come again. */
export type ReadReport = (content: MailContent, limits: ReadLimits) => Promise<ReceivedReport | Unreadable>;
