// Cluster of a node: connections to the other nodes, and replication over them.
import {startPeerLinks} from '../cluster/peer-links.ts';
import {remoteRecords} from '../cluster/peer-queries.ts';
import {type Peers, startPeers} from '../cluster/peers.ts';
import {createDrift, createRecordDifferences} from '../replication/drift.ts';
import {createHeartbeatExchange} from '../replication/heartbeat-exchange.ts';
import {createLateChanges} from '../replication/late-changes.ts';
import {createReplication} from '../replication/replication.ts';
import {createRateLimiter} from '../services/access/rate-limit.ts';
import {createAuthorities} from '../services/cluster/authority.ts';
import {createRefusals} from '../services/cluster/refusals.ts';
import type {Base} from './base.ts';
import type {Closers} from './closers.ts';

export type Cluster = ReturnType<typeof openCluster>;

export const openCluster = (
  base: Pick<Base, 'config' | 'settings' | 'storage' | 'records' | 'trust' | 'log' | 'now'>,
  version: string,
  closers: Closers,
) => {
  const {config, records, trust} = base;
  const {nodeNo} = base.storage;
  const {nodeDirectory: directory, membership, peerStates} = records;
  const credentials = {...trust.certificates.current().cluster, ca: trust.ca};
  const peers = startPeers({nodeNo, directory, credentials, routes: config.cluster.routes});
  closers.add(peers.close);
  const authorities = createAuthorities({
    own: trust.authority,
    directory,
    peerStates,
    peers: peers.list,
    nodeNo,
    onRemoved: membership.removedBy,
  });
  const replicated = openReplication(base, version);
  const links = startLinks(base, peers, replicated);
  closers.add(links.stop);
  return {peers, authorities, replicated, links};
};

/** How long a starting node waits for the others before it opens its listeners. */
const greetingMs = 3000;
/** How long a change waits for replication to all nodes. */
const replicationWaitMs = 2000;
const farewellMs = 500;

const startLinks = (
  {config, storage, records, log}: Pick<Base, 'config' | 'storage' | 'records' | 'log'>,
  peers: Peers,
  replicated: ReturnType<typeof openReplication>,
) => {
  const {replication, exchange, limiter, refusals, lateChanges, drift} = replicated;
  const {membership} = records;
  let lastSeq = 0;
  let changes = 0;
  const links = startPeerLinks({
    nodeNo: storage.nodeNo,
    peers,
    exchange,
    replication,
    refusals,
    peerStates: records.peerStates,
    limiter,
    intervalMs: config.cluster.heartbeat_interval * 1000,
    news: () => `${changes} ${limiter.taken}`,
    onRemoved: membership.removedBy,
    log,
  });
  // A removed node no longer communicates with the others.
  membership.onRemoved(peers.close);
  records.configuration.onOutbox(seq => {
    lastSeq = seq;
    links.wake();
  });
  records.configuration.onChange(async () => {
    changes += 1;
  });

  let stopped: Promise<void> | undefined;
  const leave = async (): Promise<void> => {
    // Changes acknowledged last should not wait for this node to return.
    await links.settled(await replication.lastSeq(), farewellMs);
    await links.sayGoodbye(farewellMs);
    const ended = links.stop();
    // A slow peer would delay the stop by its whole timeout.
    peers.close();
    await ended;
  };

  const remotes = () => peers.list().map(remoteRecords);

  return {
    /**
     * Heartbeats with all nodes before the listeners open: others may have newer data about this node than its own database.
     * Resolves with whether all of them answered.
     */
    async greet(): Promise<boolean> {
      if (await links.greet(greetingMs)) return true;
      log.warn('not every node answered; skipping ids in case this database is an old copy');
      await replication.skipIds();
      return false;
    },
    sendHeartbeats: links.sendHeartbeats,
    awaitReplication: async () => links.settled(await replication.lastSeq(), replicationWaitMs),
    /** `mfd bootstrap-key` writes to the database of a running node without a notification. */
    async pollOutbox() {
      const seq = await replication.lastSeq();
      if (seq !== lastSeq) links.wake();
      lastSeq = seq;
    },
    fetchLate: async () => lateChanges.fetch(remotes()),
    compare: async () => drift.repair(remotes()),
    explainDrift: async () => drift.explain(remotes()),
    async prune() {
      const least = links.leastAcknowledged();
      await replication.prune(least ?? 0, config.cluster.outbox_limit);
    },
    async stop() {
      stopped ??= leave();
      await stopped;
    },
  };
};

const openReplication = (
  {
    config,
    settings,
    storage,
    records,
    trust,
    log,
    now,
  }: Pick<Base, 'config' | 'settings' | 'storage' | 'records' | 'trust' | 'log' | 'now'>,
  version: string,
) => {
  const {store, nodeId, nodeNo} = storage;
  const {configuration, nodeDirectory: directory, peerStates, keyDirectory} = records;
  const monotonic = () => performance.now();
  const limiter = createRateLimiter({now, monotonic});
  const nameOf = (no: number) => directory.findByNo(no)?.node_id ?? `node number ${no}`;
  const refusals = createRefusals(({peer, why}) => {
    if (why === undefined) log.info({node: nameOf(peer)}, 'the node accepts changes from this one again');
    else log.error({node: nameOf(peer), detail: why}, 'the node refuses changes from this one; they are not on every node');
  });
  const lastSeqOf = (no: number) => peerStates.latest(no)?.last_seq;
  const replication = createReplication({store, configuration, nodeNo, begunAt: records.begunAt, lastSeqOf, now, nameOf});
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
    now,
  });
  return {limiter, replication, drift, lateChanges, exchange, refusals};
};
