// Cluster of nodes that each have a store of their own: replication between them.

import {findLostPeers} from '../cluster/heartbeats.ts';
import {createOutboxSenders} from '../cluster/outbox-senders.ts';
import {startPeerLinks} from '../cluster/peer-links.ts';
import {remoteRecords} from '../cluster/peer-queries.ts';
import type {Peers} from '../cluster/peers.ts';
import {routePeerLinks, routePeerReplication} from '../http/peer/routes-peer-cluster.ts';
import type {Configuration} from '../replication/configuration.ts';
import {createDrift, createRecordDifferences} from '../replication/drift.ts';
import {createEventInbox} from '../replication/event-inbox.ts';
import {createHeartbeatExchange} from '../replication/heartbeat-exchange.ts';
import {createLateChanges} from '../replication/late-changes.ts';
import {createReplication} from '../replication/replication.ts';
import type {RateLimiter} from '../services/access/rate-limit.ts';
import {createRefusals} from '../services/cluster/refusals.ts';
import type {NodeStore} from '../services/node-store.ts';
import type {Closers} from './closers.ts';
import {
  type Cluster,
  type ClusterBase,
  type ClusterLinks,
  createNews,
  farewellMs,
  goodbyeMs,
  greetingMs,
  openPeers,
} from './cluster.ts';
import {createDmarcState} from './dmarc-state.ts';
import type {Job} from './jobs.ts';

interface ReplicatedRecords {
  store: NodeStore;
  configuration: Configuration;
  /** The number of this node's newest event when the process began. */
  begunAt: number;
}

export const openReplicatedCluster = (
  base: ClusterBase,
  own: ReplicatedRecords,
  {version, closers}: {version: string; closers: Closers},
): Cluster => {
  const {storage, records} = base;
  const {peers, authorities, limiter} = openPeers(base, closers);
  const replicated = openReplication(base, own, {limiter, version});
  const {links, jobs} = startLinks(base, own, {peers, limiter, replicated});
  closers.add(links.stop);
  const {exchange, inbox, replication, refusals} = replicated;
  const {membership} = records;
  return {
    ...{peers, authorities, limiter, refusals, links, jobs},
    config: own.store.config,
    presences: undefined,
    routes: [
      routePeerLinks({exchange, membership, nodeNo: storage.nodeNo, reach: peers.reach}),
      routePeerReplication({inbox, replication}),
    ],
  };
};

/** How long a change waits for replication to all nodes. */
const replicationWaitMs = 2000;

interface LinksNeeds {
  peers: Peers;
  limiter: RateLimiter;
  replicated: ReturnType<typeof openReplication>;
}

const startLinks = (
  base: ClusterBase,
  {configuration}: Pick<ReplicatedRecords, 'configuration'>,
  {peers, limiter, replicated}: LinksNeeds,
): {links: ClusterLinks; jobs: Job[]} => {
  const {config, storage, records, log} = base;
  const {replication, inbox, exchange, refusals, drift} = replicated;
  const {nodeNo} = storage;
  const senders = createOutboxSenders({nodeNo, inbox, replication, refusals, log});
  const links = startPeerLinks({
    nodeNo,
    peers,
    exchange,
    peerStates: records.peerStates,
    limiter,
    intervalMs: config.cluster.heartbeat_interval * 1000,
    news: createNews(base, limiter),
    onRemoved: records.membership.removedBy,
    startWork: senders.start,
    log,
  });
  const lost = findLostPeers({exchange, peers, states: links.states});
  let lastSeq = 0;
  configuration.onOutbox(seq => {
    lastSeq = seq;
    senders.wake();
  });

  let stopped: Promise<void> | undefined;
  const leave = async (): Promise<void> => {
    // Changes acknowledged last should not wait for this node to return.
    await senders.settled(await replication.lastSeq(), farewellMs);
    await links.sayGoodbye(goodbyeMs);
    senders.stop();
    lost.stop();
    links.stop();
    // A slow peer would delay the stop by its whole timeout.
    peers.close();
    await senders.caughtUp();
  };

  const remotes = () => peers.list().map(remoteRecords);
  /** `mfd bootstrap-key` writes to the database of a running node without a notification. */
  const pollOutbox = async (): Promise<void> => {
    const seq = await replication.lastSeq();
    if (seq !== lastSeq) senders.wake();
    lastSeq = seq;
  };

  return {
    links: {
      /** Others may have newer data about this node than its own database. */
      async greet(): Promise<boolean> {
        if (await links.greet(greetingMs, senders.caughtUp)) return true;
        log.warn('not every node answered; skipping ids in case this database is an old copy');
        await replication.skipIds();
        return false;
      },
      sendHeartbeats: links.sendHeartbeats,
      awaitReplication: async () => senders.settled(await replication.lastSeq(), replicationWaitMs),
      explainDrift: async () => drift.explain(remotes()),
      async stop() {
        stopped ??= leave();
        await stopped;
      },
    },
    jobs: [
      {
        everyMs: 10_000,
        what: 'pruning the outbox',
        run: async () => replication.prune(senders.leastAcknowledged() ?? 0, config.cluster.outbox_limit),
      },
      {everyMs: 1_000, what: 'checking the outbox', run: pollOutbox},
      {everyMs: 1_000, what: 'fetching late changes', run: async () => replicated.lateChanges.fetch(remotes())},
      {everyMs: 1_000, what: 'comparing configurations', run: async () => drift.repair(remotes())},
    ],
  };
};

const openReplication = (
  {config, settings, fqdn, storage, records, trust, dependencies, log, now}: ClusterBase,
  {store, configuration, begunAt}: ReplicatedRecords,
  {limiter, version}: {limiter: RateLimiter; version: string},
) => {
  const {nodeId, nodeNo} = storage;
  const {nodeDirectory: directory, peerStates, keyDirectory} = records;
  const monotonic = () => performance.now();
  const nameOf = (no: number) => directory.findByNo(no)?.node_id ?? `node number ${no}`;
  const refusals = createRefusals(({peer, why}) => {
    if (why === undefined) log.info({node: nameOf(peer)}, 'the node accepts changes from this one again');
    else log.error({node: nameOf(peer), detail: why}, 'the node refuses changes from this one; they are not on every node');
  });
  const lastSeqOf = (no: number) => peerStates.latest(no)?.last_seq;
  const replication = createReplication({store, configuration, nodeNo, begunAt, lastSeqOf, now, nameOf});
  const inbox = createEventInbox({replication, refusals});
  const differences = createRecordDifferences({replication, refusals});
  const lateChanges = createLateChanges({
    replication,
    directory,
    peerStates,
    differences,
    nodeNo,
    monotonic,
    onFetched: fetched => log.info(fetched, 'missing changes were fetched from another node'),
  });
  const drift = createDrift({
    store,
    configuration,
    replication,
    directory,
    peerStates,
    refusals,
    differences,
    nodeId,
    afterMs: () => config.cluster.drift_after * 1000,
    now,
    monotonic,
    onRepair: repair => log.warn(repair, 'configuration drift repaired from the other node'),
  });
  const exchange = createHeartbeatExchange({
    store,
    replication,
    inbox,
    peerStates,
    limiter,
    keyDirectory,
    drift,
    directory,
    refusals,
    nodeId,
    nodeNo,
    version,
    license: () => settings().license,
    hasAuthority: trust.hasAuthority,
    dmarc: createDmarcState({settings, fqdn, records}),
    problems: dependencies.problems,
    recipientsUrl: () => settings().recipients.url,
    now,
  });
  return {replication, inbox, drift, lateChanges, exchange, refusals};
};
