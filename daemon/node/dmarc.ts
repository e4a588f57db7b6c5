// Counting of received mail and aggregate reports, wired to the store, the other nodes, DNS and the way out.
import {z} from 'zod';
import {Fault} from '../../shared/fault.ts';
import type {Lookup} from '../mail/authentication/dns-answers.ts';
import {createReportTransport} from '../mail/report/report-transport.ts';
import type {NodeIdentity} from '../services/access/actor.ts';
import {domainPart, type Reporter} from '../services/dmarc/aggregate-report.ts';
import {createDmarcCounter} from '../services/dmarc/dmarc-counter.ts';
import type {Batch, NodeCount} from '../services/dmarc/dmarc-store.ts';
import {createDmarcView, createOwnDmarc, type DmarcNode} from '../services/dmarc/dmarc-view.ts';
import {fromGiven, type GivenBatch, toGiven} from '../services/dmarc/peer-dmarc-protocol.ts';
import {createReportSender, dayOf, type Gathering} from '../services/dmarc/reporter.ts';
import type {Deliver} from '../services/intake/mail.ts';
import type {AskAll} from '../services/quarantine/gather.ts';
import type {Base} from './base.ts';
import type {Cluster} from './cluster.ts';
import type {Job} from './jobs.ts';

interface Needs {
  deliver: Deliver['deliver'];
  newLookup(): Lookup;
  version: string;
  /** The other nodes, and how they are asked. */
  others: {dmarcNodes(): DmarcNode[]; ask: AskAll};
}

const handOverMs = 10_000;

export const openDmarc = (base: Base, {peers}: Pick<Cluster, 'peers'>, needs: Needs) => {
  const {config, storage, records, metrics, now} = base;
  const {store, engine, nodeId, nodeNo} = storage;
  const {report_from: from, organisation, contact, keep_days} = config.dmarc;
  const {nodeDirectory, domainDirectory, peerStates} = records;
  const generator = `mfd ${needs.version}`;
  const reporter = from === undefined ? undefined : {from, organisation: organisation ?? domainPart(from), contact, generator};

  const counter = createDmarcCounter({
    store,
    nodeNo,
    reportAddresses: from === undefined ? [] : [from],
    onUncounted: metrics.dmarcUncounted,
  });
  const living = (): number[] => {
    const silent = peerStates.unreached();
    return nodeDirectory
      .list()
      .filter(node => node.id === nodeNo || (peerStates.healthOf(node) === 'online' && !silent.includes(node.id)))
      .map(({id}) => id);
  };
  const handOver = async (batch: Batch, counts: readonly NodeCount[]): Promise<void> => {
    const holder = peers.list().find(peer => peer.nodeNo === batch.holder);
    if (!holder) throw new Fault('not_found', `there is no node number ${batch.holder}`);
    const body = toGiven(batch, counts);
    await holder.client.ask(z.null(), {method: 'POST', path: 'dmarc/counts', body, deadlineMs: handOverMs});
  };
  const gathering: Gathering =
    engine.kind === 'own'
      ? {origin: nodeNo, candidates: living, handOver}
      : {
          origin: undefined,
          candidates: living,
          takeOver: async () => store.transaction(async tx => tx.dmarc.adopt(living(), nodeNo)),
        };
  const sender = reporter && openSender(base, {...needs, reporter, gathering});

  const jobs: Job[] = [
    {everyMs: 500, what: 'storing DMARC counts', run: counter.flush},
    ...(sender ? [{everyMs: 5000, what: 'sending DMARC reports', run: sender.run}] : []),
    {
      everyMs: 3_600_000,
      what: 'forgetting old DMARC counts',
      run: async () => store.transaction(async tx => tx.dmarc.forget(dayOf(now() - keep_days * 86_400_000))),
    },
  ];
  const origin = engine.kind === 'own' ? nodeNo : undefined;
  const own = createOwnDmarc({
    nodeId,
    origin,
    store,
    domains: domainDirectory,
    nodeIdOf: no => nodeDirectory.findByNo(no)?.node_id ?? String(no),
  });
  return {
    own,
    view: createDmarcView({
      nodes: () => (origin === undefined ? [own] : [own, ...needs.others.dmarcNodes()]),
      ask: needs.others.ask,
      domains: domainDirectory,
      reporter,
    }),
    count: counter.count,
    flush: counter.flush,
    jobs,
    /** Counts of another node that this one reports. */
    async take(origin: NodeIdentity, given: GivenBatch): Promise<void> {
      if (!sender) throw new Fault('conflict', 'this node sends no DMARC reports: dmarc.report_from is not set');
      const {batch, day, policy_domain} = given;
      const counts = fromGiven(given, origin.nodeNo);
      await store.transaction(async tx =>
        tx.dmarc.take({batch, day, policy_domain, holder: nodeNo, held_at: new Date(now()).toISOString()}, counts),
      );
    },
  };
};

interface SenderNeeds extends Needs {
  reporter: Reporter;
  gathering: Gathering;
}

const openSender = (
  {config, settings, storage, records, metrics, log, now}: Base,
  {deliver, newLookup, reporter, gathering}: SenderNeeds,
) => {
  const {report_delay} = config.dmarc;
  const {from} = reporter;
  const {store, nodeNo} = storage;
  const {domainDirectory} = records;
  return createReportSender({
    store,
    nodeNo,
    reporter,
    delayMs: report_delay * 1000,
    gathering,
    transport: createReportTransport({
      from,
      newLookup,
      deliver,
      smarthost: () => settings().smarthost,
      signFor() {
        const domain = domainDirectory.findByName(domainPart(from).toLowerCase());
        return domain?.dkim_active ? domain : undefined;
      },
    }),
    now,
    onEnded(report) {
      metrics.dmarcReport(report.state);
      if (report.state === 'given up')
        log.warn({report: report.id, addresses: report.addresses}, 'a DMARC report could not be delivered within 24 hours');
    },
  });
};
