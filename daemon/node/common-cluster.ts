// Cluster of nodes that share one store: heartbeats between them, and no replication.

import {setTimeout as delay} from 'node:timers/promises';
import type {ClusterDrift} from '../../shared/cluster-drift.ts';
import {startPeerLinks} from '../cluster/peer-links.ts';
import {createAwaitReplication} from '../common-store/await-nodes.ts';
import type {ChangeFollower} from '../common-store/change-follower.ts';
import type {CommonConfiguration} from '../common-store/common-configuration.ts';
import {createHashComparison} from '../common-store/hash-comparison.ts';
import {routePeerLinks} from '../http/peer/routes-peer-cluster.ts';
import {createHeartbeats} from '../replication/heartbeat-exchange.ts';
import type {Presences} from '../services/cluster/presences.ts';
import type {CommonStore} from '../services/common-store.ts';
import type {Closers} from './closers.ts';
import {type Cluster, type ClusterBase, createNews, goodbyeMs, greetingMs, openPeers} from './cluster.ts';
import {createDmarcState} from './dmarc-state.ts';
import type {Job} from './jobs.ts';

interface Shared {
  store: CommonStore;
  configuration: CommonConfiguration;
  follower: ChangeFollower;
  presences: Presences;
}

const monotonic = (): number => performance.now();

export const openCommonCluster = (
  base: ClusterBase,
  shared: Shared,
  {version, closers}: {version: string; closers: Closers},
): Cluster => {
  const {config, storage, records, log} = base;
  const {store, configuration, follower, presences} = shared;
  const {nodeNo} = storage;
  const {membership, nodeDirectory: directory, peerStates} = records;
  const {peers, authorities, limiter} = openPeers(base, closers);
  const exchange = openExchange(base, {follower, limiter, version});
  const links = startPeerLinks({
    nodeNo,
    peers,
    exchange,
    peerStates,
    limiter,
    intervalMs: config.cluster.heartbeat_interval * 1000,
    news: createNews(base, limiter),
    onRemoved: membership.removedBy,
    log,
  });
  warnOfRemoved(base);

  let stopped: Promise<void> | undefined;
  const leave = async (): Promise<void> => {
    await links.sayGoodbye(goodbyeMs);
    links.stop();
    peers.close();
  };
  const stop = async (): Promise<void> => {
    stopped ??= leave();
    await stopped;
  };
  closers.add(stop);
  return {
    ...{peers, authorities, limiter, presences},
    refusals: {whyOfPeer: () => undefined, peersThatRefuse: () => []},
    config: {configHash: async () => follower.position()},
    links: {
      async greet() {
        // A listener that opens before this refuses everything.
        const confirmed = Promise.race([follower.confirmed, delay(greetingMs, undefined, {ref: false})]);
        await Promise.all([links.greet(greetingMs), confirmed]);
        // The store knows every number.
        return true;
      },
      sendHeartbeats: links.sendHeartbeats,
      awaitReplication: createAwaitReplication({store, directory, nodeNo, lastSeq: configuration.lastSeq, monotonic}),
      explainDrift: async () => explainDrift(base, follower),
      stop,
    },
    routes: [routePeerLinks({exchange, membership, nodeNo, reach: peers.reach})],
    jobs: jobsOf(base, {store, presences}),
  };
};

const warnOfRemoved = ({records: {nodeDirectory}, log}: Pick<ClusterBase, 'records' | 'log'>): void => {
  let known = nodeDirectory.list();
  nodeDirectory.onChange(() => {
    for (const {id, node_id} of known)
      if (nodeDirectory.wasRemoved(id))
        log.warn(
          {node: node_id},
          'the removed node still knows the password of the store; change it there and in store.password_file',
        );
    known = nodeDirectory.list();
  });
};

const openExchange = (
  {config, settings, fqdn, storage: {nodeId, nodeNo}, records, trust, dependencies, now}: ClusterBase,
  {follower, limiter, version}: {follower: ChangeFollower; limiter: Cluster['limiter']; version: string},
) => {
  const {peerStates, keyDirectory} = records;
  const compare = createHashComparison({
    ownHash: () => follower.position().config_hash,
    peerStates,
    afterMs: config.cluster.drift_after * 1000,
    monotonic,
  });
  return createHeartbeats({
    ...{peerStates, limiter, keyDirectory, nodeId, nodeNo, version, now},
    license: () => settings().license,
    hasAuthority: trust.hasAuthority,
    dmarc: createDmarcState({settings, fqdn, records}),
    problems: dependencies.problems,
    recipientsUrl: () => settings().recipients.url,
    async report() {
      const {config_hash, changed_at_ms} = follower.position();
      return {config_hash, changed_at_ms, last_seq: 0, applied: {}};
    },
    onReceived: async (_from, received) => compare(received),
  });
};

/** There are no records to compare: all nodes have the same. */
const explainDrift = async (
  {storage, records, now}: Pick<ClusterBase, 'storage' | 'records' | 'now'>,
  follower: ChangeFollower,
): Promise<ClusterDrift> => {
  const {nodeDirectory, peerStates} = records;
  const {config_hash} = follower.position();
  const nodes: ClusterDrift['nodes'] = [];
  for (const node of nodeDirectory.list().filter(({id}) => id !== storage.nodeNo)) {
    const hash = peerStates.latest(node.id)?.config_hash ?? '';
    const differs_since = (await peerStates.entryOf(node)).config_differs_since;
    nodes.push({node_id: node.node_id, config_hash: hash, differs_since, differing_records: hash === config_hash ? 0 : null});
  }
  return {
    ...{local_node_id: storage.nodeId, config_hash, nodes},
    ...{records: [], repairs: [], generated_at: new Date(now()).toISOString()},
  };
};

const jobsOf = ({config}: Pick<ClusterBase, 'config'>, {store, presences}: Pick<Shared, 'store' | 'presences'>): Job[] => [
  {everyMs: 1_000, what: 'reading which nodes live', run: presences.refresh},
  {
    everyMs: 60_000,
    what: 'pruning the change log',
    async run() {
      const upTo = (await store.outbox.last()) - config.cluster.outbox_limit;
      if (upTo > (await store.outbox.floor())) await store.transaction(async tx => tx.outbox.prune(upTo));
    },
  },
];
