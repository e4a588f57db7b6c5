// Sending of aggregate reports: one for each policy domain and UTC day, by one node of the cluster.
import {createHash, randomBytes} from 'node:crypto';
import {Fault} from '../../../shared/fault.ts';
import type {Store} from '../ports.ts';
import {aggregateReport, lastPolicy, type Reporter, reportId} from './aggregate-report.ts';
import type {Batch, NodeCount, ReportAddress, ReportSubject, StoredReport} from './dmarc-store.ts';

/** What became of a report for one address; `waiting`: it is tried again. */
export type Delivery = Pick<ReportAddress, 'state' | 'detail'>;

export interface ReportTransport {
  /**
   * The address that the owner of `address` wants reports about the policy domain at (RFC 9990 section 4); undefined when it wants
   * none. Rejects when DNS gives no answer.
   */
  destinationOf(address: string, policyDomain: string): Promise<string | undefined>;
  deliver(report: StoredReport, address: string, xml: string): Promise<Delivery>;
}

/** How the counts of a subject come to the node that reports them. */
export interface Gathering {
  /** The node whose counts this one puts into batches; undefined for all nodes. */
  origin: number | undefined;
  /** The numbers of the nodes that may report, this one included. */
  candidates(): number[];
  /**
   * Gives a batch to its holder. Rejects with `outcome_unknown` when the holder may have got it, with `node_unreachable` or
   * `not_found` when it has not, and with another Fault when it does not report.
   */
  handOver?(batch: Batch, counts: readonly NodeCount[]): Promise<void>;
  /** Takes over from nodes that are away. */
  takeOver?(): Promise<void>;
}

interface Needs {
  store: Pick<Store, 'dmarc' | 'transaction'>;
  nodeNo: number;
  reporter: Reporter;
  delayMs: number;
  gathering: Gathering;
  transport: ReportTransport;
  now: () => number;
  /** Called with a report that is not tried again. */
  onEnded(report: StoredReport): void;
}

/** Receivers refuse servers that send all of their reports at once. */
const spreadMs = 45 * 60_000;
/** Time for the other nodes to give their counts to the one that reports them. */
const gatheringMs = 30_000;
/** Less than a request between nodes may hold. */
const givenAtOnce = 200;
const givenUpMs = 24 * 3_600_000;
const refusedMs = 30 * 86_400_000;
const retriesMs = [5, 15, 30, 60].map(minutes => minutes * 60_000);

export const createReportSender = (needs: Needs): {run(): Promise<void>} => {
  const {store, nodeNo, gathering, now, delayMs} = needs;
  const {dmarc} = store;
  const timeAt = (ms: number): string => new Date(ms).toISOString();

  const openBatches = async (): Promise<void> => {
    for (const subject of await dmarc.openSubjects(dayOf(now()), gathering.origin)) {
      if (now() < dueAt(subject, delayMs)) continue;
      const holder = holderOf(subject, gathering.candidates());
      if (gathering.origin === undefined && holder !== nodeNo) continue;
      const batch = {...subject, batch: `${nodeNo}.${randomBytes(9).toString('base64url')}`, holder, held_at: timeAt(now())};
      await store.transaction(async tx => tx.dmarc.assign(batch, gathering.origin));
      if (holder !== nodeNo) fresh.add(batch.batch);
    }
  };

  /** Batches that no holder can have got any of yet. */
  const fresh = new Set<string>();
  const handOver = async (batch: Batch): Promise<void> => {
    const isFresh = fresh.delete(batch.batch);
    try {
      await giveAll(batch);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      // A holder that may have got counts keeps them until it answers: reported twice they would be more mails than there were.
      if (!isFresh || error.code === 'outcome_unknown') return;
      const others = gathering.candidates().filter(no => no !== batch.holder);
      const holder = error.code === 'node_unreachable' ? holderOf(batch, others) : nodeNo;
      await store.transaction(async tx => tx.dmarc.reassign(batch.batch, holder));
      if (holder !== nodeNo) fresh.add(batch.batch);
    }
  };
  const giveAll = async (batch: Batch): Promise<void> => {
    const counts = await dmarc.unconfirmedCounts(batch.batch, givenAtOnce);
    if (counts.length === 0) return;
    await gathering.handOver?.(batch, counts);
    const digests = counts.map(({digest}) => digest);
    await store.transaction(async tx => tx.dmarc.confirm(batch.batch, digests));
    await giveAll(batch);
  };

  const makeReport = async (subject: ReportSubject): Promise<void> => {
    await store.transaction(async tx => {
      const counts = await tx.dmarc.heldCounts(subject, nodeNo);
      const addresses = lastPolicy(counts)?.record.reportTo ?? [];
      const at = timeAt(now());
      await tx.dmarc.insertReport({
        ...subject,
        id: reportId(subject, counts, needs.reporter),
        holder: nodeNo,
        state: addresses.length > 0 ? 'waiting' : 'refused',
        addresses: [...new Set(addresses)].map(address => ({address, state: 'waiting', detail: ''})),
        count: counts.reduce((sum, {count}) => sum + count, 0),
        created_at: at,
        attempts: 0,
        next_at: at,
        ended_at: addresses.length > 0 ? null : at,
      });
    });
  };

  const send = createSending(needs);
  return {
    async run() {
      await gathering.takeOver?.();
      await openBatches();
      for (const batch of await dmarc.unconfirmed(nodeNo)) await handOver(batch);
      for (const subject of await dmarc.heldSubjects(nodeNo, timeAt(now() - gatheringMs))) await makeReport(subject);
      for (const report of await dmarc.dueReports(nodeNo, timeAt(now()))) await send(report);
    },
  };
};

const createSending = ({store, reporter, transport, now, onEnded}: Needs) => {
  const attempt = async (report: StoredReport, {address}: ReportAddress, xml: string): Promise<Delivery> => {
    const refused = await store.dmarc.refusedSince(new Date(now() - refusedMs).toISOString());
    if (refused.includes(address)) return {state: 'left out', detail: 'it has refused a report for good in the last 30 days'};
    const destination = await transport.destinationOf(address, report.policy_domain).catch(() => null);
    if (destination === null) return {state: 'waiting', detail: 'DNS gave no answer'};
    if (destination === undefined)
      return {state: 'left out', detail: 'its domain does not say that it wants reports about this one'};
    return transport.deliver(report, destination, xml);
  };

  return async (report: StoredReport): Promise<void> => {
    const counts = await store.dmarc.reportedCounts(report.id);
    const policy = lastPolicy(counts);
    if (!policy) return;
    const xml = aggregateReport(report, {counts, policy}, reporter);
    const addresses: ReportAddress[] = [];
    for (const one of report.addresses)
      addresses.push(one.state === 'waiting' ? {...one, ...(await attempt(report, one, xml))} : one);
    const sent = endedBy({...report, addresses, attempts: report.attempts + 1}, now());
    await store.transaction(async tx => tx.dmarc.updateReport(sent));
    if (sent.ended_at !== null) onEnded(sent);
  };
};

/** The report after an attempt. */
const endedBy = (report: StoredReport, now: number): StoredReport => {
  const {addresses, attempts, created_at} = report;
  const isWaiting = addresses.some(({state}) => state === 'waiting');
  const isSent = addresses.some(({state}) => state === 'sent');
  const retryMs = retriesMs[attempts - 1] ?? retriesMs.at(-1) ?? 0;
  const isLate = now + retryMs > Date.parse(created_at) + givenUpMs;
  if (isWaiting && !isLate) return {...report, next_at: new Date(now + retryMs).toISOString()};
  return {...report, state: isSent ? 'sent' : isWaiting ? 'given up' : 'refused', ended_at: new Date(now).toISOString()};
};

export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** When a report is due, in milliseconds: after the end of its day in UTC, and at another time for each policy domain. */
const dueAt = ({day, policy_domain}: ReportSubject, delayMs: number): number =>
  Date.parse(`${day}T00:00:00Z`) + 86_400_000 + delayMs + Math.floor(partOf(policy_domain) * spreadMs);

/** The same node for all nodes that agree on the candidates (rendezvous hashing). There is at least one. */
const holderOf = ({day, policy_domain}: ReportSubject, candidates: readonly number[]): number => {
  const weight = (no: number): number => partOf(`${day} ${policy_domain} ${no}`);
  return candidates.reduce((best, no) => (weight(no) > weight(best) ? no : best));
};

/** From 0 to below 1. */
const partOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
