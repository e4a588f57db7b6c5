// Mail with aggregate reports about domains here: it is read, and does not go to a mailbox.

import {createHash} from 'node:crypto';
import {setImmediate as nextIteration} from 'node:timers/promises';
import {otherSources} from '../../../shared/dmarc-lists.ts';
import {hasOwn} from '../../../shared/has-own.ts';
import {comparableAddress} from '../../../shared/mail-address.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import type {MailContent} from '../intake/mail.ts';
import type {Store} from '../ports.ts';
import {createReadingOrder, type Standing} from './reading-order.ts';
import {
  type ReadLimits,
  type ReadReport,
  type ReceivedReport,
  type ReportedSource,
  type SourceCounts,
  sumOfCounts,
} from './received-report.ts';
import type {ReportUse, StoredReceived, StoredSource} from './received-store.ts';
import {dayOf} from './reporter.ts';

/** Who a report is from: a claim, unless SPF or DKIM shows it. */
export interface ReportOrigin {
  domain: string;
  isVerified: boolean;
  /** Addresses that the client is among; undefined for a report that is made here. */
  network?: string;
}

export interface ReportInbox {
  /** Whether reports are read that are sent to this address. */
  isForReports(recipient: string): boolean;
  /** Undefined once the report is on stable storage; else why the mail cannot be read here, in words for a log. */
  take(content: MailContent, from: ReportOrigin): Promise<string | undefined>;
}

interface Needs {
  addresses(): readonly string[];
  store: {transaction: Store['transaction']; received: Pick<Store['received'], 'isKnown'>};
  domains: Pick<DomainDirectory, 'findByName' | 'list'>;
  read: ReadReport;
  keepDays(): number;
  now: () => number;
  log: {warn(fields: object, message: string): void};
}

const dayMs = 86_400_000;
const maxRangeMs = 31 * dayMs;
/**
 * In 24 hours, about one domain. A receiver sends one report a day, some send one an hour. All senders that are not verified count as
 * one, as they have as many names as they like.
 */
const maxReports = {ofReporter: 50, ofDomain: 1000};
/** Likewise, rows of sources: beyond them the sources of a report with the fewest mails are one row. A row is some 100 bytes on the disk. */
const maxRows = {unverified: 1000, ofReporter: 5000, ofDomain: 20_000};

const mib = 1024 * 1024;
/** Largest reports have some ten MiB. */
const cautious: ReadLimits = {maxUnpackedBytes: 20 * mib, maxCpuMs: 2000};
const limits: Record<Standing, ReadLimits> = {
  known: {maxUnpackedBytes: 100 * mib, maxCpuMs: 20_000},
  verified: cautious,
  unverified: cautious,
};

export const createReportInbox = ({addresses, store, domains, read, keepDays, now, log}: Needs): ReportInbox => {
  const inTurn = createReadingOrder(now);

  const standingOf = async ({domain, isVerified}: ReportOrigin): Promise<Standing> => {
    if (!isVerified) return 'unverified';
    return (await store.received.isKnown(domain)) ? 'known' : 'verified';
  };

  const firstDayOf = ({begin, end}: ReceivedReport): string | undefined => {
    const [first, last] = [begin * 1000, end * 1000];
    const isPossible = last >= first && last - first <= maxRangeMs && last <= now() + dayMs && first > now() - keepDays() * dayMs;
    return isPossible ? dayOf(first) : undefined;
  };

  return {
    isForReports: recipient => addresses().map(comparableAddress).includes(comparableAddress(recipient)),

    async take(content, from) {
      const standing = await standingOf(from);
      const report = await inTurn({standing, sender: senderOf(from)}, async () => read(content, limits[standing]));
      if (hasOwn(report, 'unreadable')) return report.unreadable;
      const day = firstDayOf(report);
      if (day === undefined) return 'its dates are wrong, or long ago';
      if (report.sources.length === 0) return 'it has no records';
      const parts = await byDomain(report.sources, domains);
      if (parts.size === 0) return `it is about no domain here, but about ${report.policy_domain}`;
      const since = new Date(now() - dayMs).toISOString();
      const problem = await store.transaction(async tx => {
        const received: {stored: StoredReceived; sources: StoredSource[]}[] = [];
        for (const [domain, ofDomain] of parts) {
          const identity = storedOf({report, domain, day, from, receivedAt: now()});
          const uses = await tx.received.usage(identity, since);
          const tooMuch = excess(uses, from);
          if (tooMuch !== undefined) return `${tooMuch} ${domain}`;
          const sources = withinRows(ofDomain, roomFor(uses, from));
          received.push({stored: {...identity, source_count: sources.length}, sources});
        }
        for (const {stored, sources} of received) await tx.received.insert(stored, sources);
        return undefined;
      });
      const {bad_rows, report_id} = report;
      if (problem === undefined && bad_rows > 0)
        log.warn({reporter: from.domain, report_id, bad_rows}, 'rows of a DMARC report are left out, as they cannot be read');
      return problem;
    },
  };
};

/** For whom a report waits. */
const senderOf = ({domain, isVerified, network}: ReportOrigin): string =>
  isVerified ? registrantOf(domain) : (network ?? domain);

/**
 * The owner of a domain has as many names below it as it likes, so these are one. Where others own what is below a suffix that is missing
 * here, they wait for each other, and share what one may send.
 */
const registrantOf = (domain: string): string => {
  const isBelowSuffix = /\.(ac|co|com|edu|go|gob|gov|ne|net|or|org)\.[a-z]{2}$/.test(domain);
  return domain
    .split('.')
    .slice(isBelowSuffix ? -3 : -2)
    .join('.');
};

interface Part {
  report: ReceivedReport;
  domain: string;
  day: string;
  from: ReportOrigin;
  receivedAt: number;
}

const storedOf = ({report, domain, day, from, receivedAt}: Part): Omit<StoredReceived, 'source_count'> => {
  const {report_id, policy_domain} = report;
  return {
    digest: digestOf([domain, day, from.domain, from.isVerified, report_id, policy_domain]),
    ...{domain, day, reporter: from.domain, is_verified: from.isVerified},
    received_at: new Date(receivedAt).toISOString(),
  };
};

const digestOf = (identity: readonly (string | boolean)[]): string =>
  createHash('sha256').update(JSON.stringify(identity)).digest('base64url').slice(0, 16);

/** A report may have 150,000, and the node has other work. */
const sourcesAtOnce = 5000;

/** Each source belongs to the domain here that its domain in From is, or is below; the others are ignored. */
const byDomain = async (
  sources: readonly ReportedSource[],
  domains: Pick<DomainDirectory, 'findByName' | 'list'>,
): Promise<Map<string, ReportedSource[]>> => {
  // Senders choose how many labels their names have.
  const maxLabels = domains.list().reduce((most, {name}) => Math.max(most, name.split('.').length), 0);
  const owners = new Map<string, string | undefined>();
  const ownerOf = (name: string): string | undefined => {
    if (!owners.has(name))
      owners.set(
        name,
        endings(name, maxLabels).findLast(ending => domains.findByName(ending)),
      );
    return owners.get(name);
  };
  const parts = new Map<string, Map<string, ReportedSource>>();
  for (const [n, source] of sources.entries()) {
    if (n % sourcesAtOnce === sourcesAtOnce - 1) await nextIteration();
    const owner = ownerOf(source.header_from);
    if (owner === undefined) continue;
    const part = parts.get(owner) ?? new Map<string, ReportedSource>();
    parts.set(owner, part);
    const same = part.get(source.source_ip);
    part.set(source.source_ip, same ? {...same, ...sumOfCounts(same, source)} : source);
  }
  return new Map([...parts].map(([owner, part]) => [owner, [...part.values()]]));
};

/** The last labels of a name, as one to `maxLabels` of them. */
const endings = (name: string, maxLabels: number): string[] => {
  const found: string[] = [];
  for (let at = name.length; at !== -1 && found.length < maxLabels; ) {
    at = name.lastIndexOf('.', at - 1);
    found.push(name.slice(at + 1));
  }
  return found;
};

/** What counts as one sender with this one. */
const ofSameSender = (uses: readonly ReportUse[], {domain, isVerified}: ReportOrigin): ReportUse[] => {
  const registrant = registrantOf(domain);
  return uses.filter(use => (isVerified ? use.is_verified && registrantOf(use.reporter) === registrant : !use.is_verified));
};

const sumOf = (uses: readonly ReportUse[], name: 'reports' | 'sources'): number => uses.reduce((sum, use) => sum + use[name], 0);

/** Why one more report is too much, if it is. */
const excess = (uses: readonly ReportUse[], from: ReportOrigin): string | undefined => {
  if (sumOf(ofSameSender(uses, from), 'reports') >= maxReports.ofReporter)
    return 'its sender has sent too many reports today about';
  return sumOf(uses, 'reports') >= maxReports.ofDomain ? 'too many reports came today about' : undefined;
};

/** The number of sources that have rows of their own. */
const roomFor = (uses: readonly ReportUse[], from: ReportOrigin): number => {
  const ofSender = from.isVerified ? maxRows.ofReporter : maxRows.unverified;
  const left = Math.min(ofSender - sumOf(ofSameSender(uses, from), 'sources'), maxRows.ofDomain - sumOf(uses, 'sources'));
  return Math.max(0, left);
};

/** The sources with the most mails, and one row for all others. */
const withinRows = (sources: readonly ReportedSource[], room: number): StoredSource[] => {
  const sorted = sources.toSorted((one, other) => other.count - one.count);
  const named = sorted.filter(({source_ip}) => source_ip !== otherSources).slice(0, room);
  const isNamed = new Set(named);
  const [first, ...rest] = sorted.filter(source => !isNamed.has(source));
  return first ? [...named, {...rest.reduce<SourceCounts>(sumOfCounts, first), source_ip: otherSources}] : named;
};
