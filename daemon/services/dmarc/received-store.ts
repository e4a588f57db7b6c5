// Port to the reports that were received. A store of one node has those that came to that node.
import type {ReportedSources, ReportedSource as Shown} from '../../../shared/reported-source.ts';
import type {SourceCounts} from './received-report.ts';

/** What one report says of one domain here. */
export interface StoredReceived {
  /** Equal for the same report, however often it is received. */
  digest: string;
  domain: string;
  /** The UTC day that it begins on. */
  day: string;
  /** The domain that it came from. */
  reporter: string;
  is_verified: boolean;
  received_at: string;
  /** Rows of sources. */
  source_count: number;
}

export interface StoredSource extends SourceCounts {
  source_ip: string;
}

/** What one reporter has sent about one domain. */
export interface ReportUse {
  reporter: string;
  is_verified: boolean;
  reports: number;
  sources: number;
}

export interface ReportedChoice {
  domain: string;
  /** The first UTC day. */
  since: string;
  /** Only reports whose sender was verified. */
  isVerified: boolean;
  /** Digests of reports that another node has counted. */
  without: readonly string[];
}

/** The sums of the reports that were chosen, and the sources with the most mails. */
export interface Reported {
  digests: string[];
  count: number;
  passed: number;
  source_count: number;
  /** Those that report on the most days first. */
  reporters: ReportedSources['reporters'];
  sources: Omit<Shown, 'name' | 'network'>[];
}

export interface ReceivedReads {
  /** Whether a report of this reporter is stored for which it was verified. */
  isKnown(reporter: string): Promise<boolean>;
  /** By reporter, of other reports about the same domain that were received since then. */
  usage(report: Pick<StoredReceived, 'digest' | 'domain'>, since: string): Promise<ReportUse[]>;
  reported(choice: ReportedChoice): Promise<Reported>;
}

export interface ReceivedStore extends ReceivedReads {
  /** Adds what a report says of one domain; does nothing when it is there already. */
  insert(report: StoredReceived, sources: readonly StoredSource[]): Promise<void>;
  /** Deletes what is about days before `day`. */
  forget(day: string): Promise<void>;
}
