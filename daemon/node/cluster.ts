// Cluster of a node: connections to the other nodes, and replication over them.
import type {Logger} from 'pino';
import {startPeerLinks} from '../cluster/peer-links.ts';
import {type Peers, startPeers} from '../cluster/peers.ts';
import {remoteRecords} from '../cluster/remote-records.ts';
import type {Config} from '../config/schema.ts';
import {createAuthorities} from '../services/cluster/authority.ts';
import type {Closers} from './closers.ts';
import type {LiveSettings} from './live-settings.ts';
import type {Records} from './records.ts';
import {openReplication, type ReplicationParts} from './replication.ts';
import type {Storage} from './storage.ts';
import type {Trust} from './trust.ts';

interface Needs {
  config: Config;
  settings(): LiveSettings;
  storage: Pick<Storage, 'store' | 'nodeId' | 'nodeNo'>;
  records: Records;
  trust: Trust;
  version: string;
  closers: Closers;
  log: Logger;
  now: () => number;
}

export type Cluster = ReturnType<typeof openCluster>;

export const openCluster = ({config, settings, storage, records, trust, version, closers, log, now}: Needs) => {
  const {store, nodeId, nodeNo} = storage;
  const {nodeDirectory: directory, membership, peerStates} = records;
  const {ca, hasAuthority} = trust;
  const credentials = {...trust.certificates.current().cluster, ca};
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
  const driftAfterMs = config.cluster.drift_after * 1000;
  const identity = {nodeId, nodeNo};
  const replicated = openReplication({store, identity, records, settings, version, hasAuthority, driftAfterMs, log, now});
  const links = startLinks({nodeNo, config, records, replicated, peers, log});
  closers.add(links.stop);
  return {peers, authorities, replicated, links};
};

interface LinkNeeds {
  nodeNo: number;
  config: Config;
  records: Records;
  replicated: ReplicationParts;
  peers: Peers;
  log: Logger;
}

export type ClusterLinks = ReturnType<typeof startLinks>;

/** How long a starting node waits for the others before it opens its listeners. */
const greetingMs = 3000;
/** How long a change waits for replication to all nodes. */
const replicationWaitMs = 2000;
const farewellMs = 500;

const startLinks = ({nodeNo, config, records, replicated, peers, log}: LinkNeeds) => {
  const {replication, exchange, limiter, refusals, lateChanges, drift} = replicated;
  const {membership} = records;
  let lastSeq = 0;
  let changes = 0;
  const links = startPeerLinks({
    nodeNo,
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
