// Counting of received mail and aggregate reports, wired to the store, the other nodes, DNS and the way out.
import {Fault} from '../../shared/fault.ts';
import {createBackendPool} from '../mail/backend/backend-pool.ts';
import {createDeliver, type DeliverNeeds} from '../mail/backend/deliver.ts';
import {createClientNames} from '../mail/gateway/clients.ts';
import type {Lookup} from '../mail/lookup.ts';
import {createReportTransport} from '../mail/report/report-transport.ts';
import {clusterKeyword} from '../mail/smtp-reply.ts';
import type {NodeIdentity} from '../services/actor.ts';
import {domainPart, type Reporter} from '../services/dmarc/aggregate-report.ts';
import {createDmarcCounter} from '../services/dmarc/dmarc-counter.ts';
import {fromGiven, type GivenBatch, remoteDmarc} from '../services/dmarc/dmarc-questions.ts';
import {createDmarcView, createOwnDmarc} from '../services/dmarc/dmarc-view.ts';
import type {ReportInbox} from '../services/dmarc/report-inbox.ts';
import {createOwnReported, createReportedView} from '../services/dmarc/reported-view.ts';
import {createReportSender, dayOf} from '../services/dmarc/reporter.ts';
import {signingDomain} from '../services/domains/signing-domain.ts';
import {routeFor} from '../services/intake/intake.ts';
import type {Base} from './base.ts';
import {noteUse} from './dependencies.ts';
import {reportFromOf} from './dmarc-state.ts';
import type {Job} from './jobs.ts';
import type {followPeers} from './peer-clients.ts';
import {remade} from './remade.ts';

interface Needs {
  sign: DeliverNeeds['sign'];
  newLookup(): Lookup;
  version: string;
  /** The other nodes, and how they are asked. */
  others: Pick<ReturnType<typeof followPeers>, 'nodes' | 'ask'>;
  inbox: ReportInbox;
}

export const openDmarc = (base: Base, needs: Needs) => {
  const {settings, storage, records, metrics, now} = base;
  const {store, engine, nodeId, nodeNo} = storage;
  const {nodeDirectory, domainDirectory} = records;
  const generator = `mfd ${needs.version}`;
  const reporter = (): Reporter | undefined => {
    const from = reportFromOf(base);
    const {organisation, contact} = settings().dmarc;
    return from === undefined ? undefined : {from, organisation: organisation ?? domainPart(from), contact, generator};
  };

  const counter = createDmarcCounter({
    store,
    nodeNo,
    reportAddresses: () => [reportFromOf(base), ...settings().dmarc.receive_at].filter(address => address !== undefined),
    onUncounted: metrics.dmarcUncounted,
  });
  const sender = openSender(base, {...needs, reporter});

  const jobs: Job[] = [
    {everyMs: 500, what: 'storing DMARC counts', run: counter.flush},
    ...sender.jobs,
    {
      everyMs: 3_600_000,
      what: 'forgetting old DMARC counts',
      async run() {
        const day = dayOf(now() - settings().dmarc.keep_days * 86_400_000);
        await store.transaction(async tx => {
          await tx.dmarc.forget(day);
          await tx.received.forget(day);
        });
      },
    },
  ];
  const origin = engine.kind === 'own' ? nodeNo : undefined;
  const counted = createOwnDmarc({
    nodeId,
    origin,
    store,
    domains: domainDirectory,
    nodeIdOf: no => nodeDirectory.findByNo(no)?.node_id ?? String(no),
  });
  const own = {...counted, ...createOwnReported({nodeId, store, domains: domainDirectory})};
  const asking = {
    nodes: () => (origin === undefined ? [own] : [own, ...needs.others.nodes().map(node => remoteDmarc(node.nodeNo, node))]),
    ask: needs.others.ask,
    domains: domainDirectory,
  };
  const names = remade(
    () => settings().dns.servers,
    servers => createClientNames({servers}),
  );
  return {
    own,
    view: {...createDmarcView({...asking, reporter}), ...createReportedView({...asking, nameOf: async ip => names().find(ip)})},
    count: counter.count,
    jobs,
    async close() {
      await sender.close();
      await counter.flush();
    },
    /** Counts of a node of 0.8, which has chosen this one to report them. */
    async take(from: NodeIdentity, given: GivenBatch): Promise<void> {
      // It then reports them itself, or asks again.
      if (!reporter())
        throw new Fault('conflict', 'this node sends no DMARC reports: it has no fqdn with a dot and no dmarc.report_from');
      if (given.day >= dayOf(now())) throw new Fault('unavailable', 'the day is not over by the clock of this node');
      await store.transaction(async tx => tx.dmarc.take(fromGiven(given, from.nodeNo)));
    },
  };
};

interface SenderNeeds extends Needs {
  reporter(): Reporter | undefined;
}

const openSender = (
  {settings, storage, records, trust, fqdn, metrics, dependencies, log, now}: Base,
  {sign, newLookup, reporter, inbox}: SenderNeeds,
) => {
  const {store, engine, nodeNo} = storage;
  const {domainDirectory, membership, nodeDirectory, peerStates} = records;
  const others = () => nodeDirectory.list().filter(node => node.id !== nodeNo && peerStates.healthOf(node) === 'online');
  // Not that of the backends: it remembers the servers that do not answer, and others choose where reports go.
  const pool = createBackendPool({
    hostname: fqdn,
    ownKeyword: clusterKeyword(trust.ca),
    onUse: noteUse({settings, dependencies}),
  });
  const sender = createReportSender({
    store,
    nodeNo,
    reporter,
    delayMs: () => settings().dmarc.report_delay * 1000,
    ...(engine.kind !== 'own' && {living: () => [nodeNo, ...others().map(({id}) => id)]}),
    transport: createReportTransport({
      newLookup,
      inbox,
      deliver: createDeliver({pool, ...(sign && {sign})}).deliver,
      routeTo(name) {
        const {smarthost} = settings();
        const domain = domainDirectory.findByName(name);
        return domain ? routeFor({direction: 'inbound', domain}, smarthost) : smarthost;
      },
      signFor: from => signingDomain(domainDirectory, from),
    }),
    now,
    onEnded(report) {
      metrics.dmarcReport(report.state);
      if (report.state === 'given up')
        log.warn({report: report.id, addresses: report.addresses}, 'a DMARC report could not be delivered within 24 hours');
    },
  });
  const unlessRemoved = (work: () => Promise<void>) => async () => (membership.isRemoved() ? undefined : work());
  const jobs: Job[] = [
    {everyMs: 5000, what: 'making DMARC reports', run: unlessRemoved(sender.make)},
    {everyMs: 5000, what: 'sending DMARC reports', run: unlessRemoved(sender.send), mayBeCutOff: true},
  ];
  return {jobs, close: pool.close};
};
