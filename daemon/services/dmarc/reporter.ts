// Sending of aggregate reports: one for each policy domain and UTC day of what the nodes of one store have counted.
import {createHash, randomBytes} from 'node:crypto';
import {Fault} from '../../../shared/fault.ts';
import type {Store} from '../ports.ts';
import {timeAt} from '../time-at.ts';
import {aggregateReport, lastPolicy, type Reporter, reportId} from './aggregate-report.ts';
import type {ReportAddress, ReportSubject, StoredReport} from './dmarc-store.ts';

/** What became of a report for one address; `waiting`: it is tried again. */
export interface Delivery extends Pick<ReportAddress, 'state' | 'detail'> {
  /** Nothing was tried, as the server has got enough for now: it is the turn of this address soon. */
  isPostponed?: boolean;
}

export interface ReportTransport {
  /**
   * The address that the owner of `address` wants reports about the policy domain at (RFC 9990 section 4); undefined when it wants
   * none. Rejects when DNS gives no answer.
   */
  destinationOf(address: string, policyDomain: string): Promise<string | undefined>;
  deliver(report: StoredReport, address: string, sent: {from: string; xml: string}): Promise<Delivery>;
}

interface Needs {
  store: Pick<Store, 'dmarc' | 'transaction'>;
  nodeNo: number;
  /** Undefined while this node sends no reports. */
  reporter(): Reporter | undefined;
  delayMs(): number;
  /** The numbers of the nodes that are not away, this one included; only where all nodes have one store. */
  living?(): number[];
  transport: ReportTransport;
  now: () => number;
  /** Called with a report that is not tried again. */
  onEnded(report: StoredReport): void;
}

export interface ReportSender {
  /** Makes reports of the counts of days that are over, and takes over the reports of nodes that are away. */
  make(): Promise<void>;
  /** Sends what is due. May take minutes; a process that ends meanwhile sends the same again. */
  send(): Promise<void>;
}

/** Receivers refuse servers that send all of their reports at once. */
const spreadMs = 45 * 60_000;
const givenUpMs = 24 * 3_600_000;
const refusedMs = 30 * 86_400_000;
const postponedMs = 60_000;
const retriesMs = [5, 15, 30, 60].map(minutes => minutes * 60_000);

export const createReportSender = (needs: Needs): ReportSender => {
  const {store, nodeNo, living, now, reporter, delayMs} = needs;
  const {dmarc} = store;

  const makeReport = async (subject: ReportSubject, by: Reporter): Promise<void> =>
    store.transaction(async tx => {
      const batch = `${nodeNo}.${randomBytes(9).toString('base64url')}`;
      const counts = await tx.dmarc.claim(subject, batch);
      const addresses = lastPolicy(counts)?.record.reportTo ?? [];
      if (addresses.length === 0) return tx.dmarc.leaveOut(batch);
      const at = timeAt(now());
      const report: StoredReport = {
        ...subject,
        id: reportId(subject, counts, by),
        holder: nodeNo,
        state: 'waiting',
        addresses: [...new Set(addresses)].map(address => ({address, state: 'waiting', detail: ''})),
        count: counts.reduce((sum, {count}) => sum + count, 0),
        created_at: at,
        attempts: 0,
        next_at: at,
        ended_at: null,
      };
      await tx.dmarc.insertReport(report, batch);
    });

  const sendOne = createSending(needs);
  return {
    async make() {
      const by = reporter();
      if (!by) return;
      if (living) await store.transaction(async tx => tx.dmarc.adopt(living(), nodeNo));
      const subjects = await dmarc.unreported(dayOf(now()));
      const due = subjects.filter(subject => now() >= dueAt(subject, delayMs()));
      await each(due, async subject => makeReport(subject, by));
    },
    async send() {
      const by = reporter();
      if (!by) return;
      const due = await dmarc.dueReports(nodeNo, timeAt(now()));
      const results = await Promise.allSettled(due.map(async report => sendOne(report, by)));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    },
  };
};

const createSending = ({store, transport, now, onEnded}: Needs) => {
  const {dmarc} = store;

  const attempt = async (report: StoredReport, address: string, sent: {from: string; xml: string}): Promise<Delivery> => {
    const {policy_domain} = report;
    if (await dmarc.hasRefused({address, policy_domain}, timeAt(now() - refusedMs)))
      return {state: 'left out', detail: 'it has refused a report for good in the last 30 days'};
    const destination = await transport.destinationOf(address, policy_domain).catch(() => null);
    if (destination === null) return {state: 'waiting', detail: 'DNS gave no answer'};
    if (destination === undefined)
      return {state: 'left out', detail: 'its domain does not say that it wants reports about this one'};
    return transport.deliver(report, destination, sent);
  };

  const write = async (report: StoredReport, refused: readonly string[]): Promise<void> => {
    const {policy_domain} = report;
    await store.transaction(async tx => {
      await tx.dmarc.updateReport(report);
      for (const address of refused) await tx.dmarc.noteRefusal({address, policy_domain}, timeAt(now()));
    });
  };

  return async (report: StoredReport, by: Reporter): Promise<void> => {
    const counts = await dmarc.reportedCounts(report.id);
    const policy = lastPolicy(counts);
    // The database was damaged, and the counts are lost.
    if (!policy) return write({...report, state: 'given up', ended_at: timeAt(now())}, []);
    const sent = {from: by.from, xml: aggregateReport(report, {counts, policy}, by)};
    const failures: unknown[] = [];
    const failed = (error: unknown): Delivery => {
      if (!(error instanceof Fault)) failures.push(error);
      return {state: 'waiting', detail: error instanceof Fault ? error.detail : 'mfd failed; its log says why'};
    };
    const waiting = report.addresses.filter(({state}) => state === 'waiting');
    const tried = new Map(
      await Promise.all(waiting.map(async ({address}) => [address, await attempt(report, address, sent).catch(failed)] as const)),
    );
    const addresses = report.addresses.map(one => {
      const {state, detail} = tried.get(one.address) ?? one;
      return {...one, state, detail};
    });
    const postponed = [...tried.values()].filter(({isPostponed}) => isPostponed).length;
    const attempts = report.attempts + (postponed < tried.size ? 1 : 0);
    const ended = endedBy({...report, addresses, attempts}, {now: now(), isPostponed: postponed > 0});
    await write(
      ended,
      [...tried].flatMap(([address, {state}]) => (state === 'refused' ? [address] : [])),
    );
    if (ended.ended_at !== null) onEnded(ended);
    if (failures.length > 0) throw failures[0];
  };
};

/** The report after an attempt. */
const endedBy = (report: StoredReport, {now, isPostponed}: {now: number; isPostponed: boolean}): StoredReport => {
  const {addresses, attempts, created_at} = report;
  const isWaiting = addresses.some(({state}) => state === 'waiting');
  const isSent = addresses.some(({state}) => state === 'sent');
  const retryMs = isPostponed ? postponedMs : (retriesMs[attempts - 1] ?? retriesMs.at(-1) ?? 0);
  const isLate = now + retryMs > Date.parse(created_at) + givenUpMs;
  if (isWaiting && !isLate) return {...report, next_at: timeAt(now + retryMs)};
  return {...report, state: isSent ? 'sent' : isWaiting ? 'given up' : 'refused', ended_at: timeAt(now)};
};

export const dayOf = (ms: number): string => timeAt(ms).slice(0, 10);

/** When a report is due, in milliseconds: after the end of its day in UTC, and at another time for each policy domain. */
const dueAt = ({day, policy_domain}: ReportSubject, delayMs: number): number =>
  Date.parse(`${day}T00:00:00Z`) + 86_400_000 + delayMs + Math.floor(partOf(policy_domain) * spreadMs);

/** From 0 to below 1. */
const partOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;

/** One that fails keeps nobody else waiting; rejects with the first failure at the end. */
const each = async <T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> => {
  const errors: unknown[] = [];
  for (const one of all) await work(one).catch(error => void errors.push(error));
  if (errors.length > 0) throw errors[0];
};
