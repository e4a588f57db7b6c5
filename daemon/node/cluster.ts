// Cluster of a node: the connections to the other nodes. `replicated-cluster.ts` and `common-cluster.ts` open it.

import type {ClusterDrift} from '../../shared/cluster-drift.ts';
import {type Peers, startPeers} from '../cluster/peers.ts';
import type {PeerRouter} from '../http/peer/peer-app.ts';
import {createRateLimiter, type RateLimiter} from '../services/access/rate-limit.ts';
import {type Authorities, createAuthorities} from '../services/cluster/authority.ts';
import type {Presences} from '../services/cluster/presences.ts';
import type {Refusals} from '../services/cluster/refusals.ts';
import type {AwaitReplication, ConfigReads} from '../services/ports.ts';
import type {Base} from './base.ts';
import type {Closers} from './closers.ts';
import type {Job} from './jobs.ts';

export interface Cluster {
  peers: Peers;
  authorities: Authorities;
  limiter: RateLimiter;
  refusals: Pick<Refusals, 'whyOfPeer' | 'peersThatRefuse'>;
  /** The hash of the configuration that this node works with. */
  config: Pick<ConfigReads, 'configHash'>;
  /** In a store that all nodes share. */
  presences: Presences | undefined;
  links: ClusterLinks;
  /** Routes for the other nodes. */
  routes: ((router: PeerRouter) => void)[];
  jobs: Job[];
}

export interface ClusterLinks {
  /** Heartbeats with all nodes before the listeners open. Resolves with whether every node number in use is known here. */
  greet(): Promise<boolean>;
  sendHeartbeats(): Promise<void>;
  awaitReplication: AwaitReplication;
  explainDrift(): Promise<ClusterDrift>;
  stop(): Promise<void>;
}

export type ClusterBase = Pick<
  Base,
  'config' | 'settings' | 'fqdn' | 'storage' | 'records' | 'trust' | 'dependencies' | 'log' | 'now'
>;
export type OpenCluster = (base: ClusterBase, version: string, closers: Closers) => Cluster;

/** How long a starting node waits for the others before it opens its listeners. */
export const greetingMs = 3000;
/** How long a stopping node waits for the others to take its last changes. */
export const farewellMs = 500;
/** How long it waits for them to hear that it stops, which should reach those under load as well. */
export const goodbyeMs = 2000;

/** What every cluster starts with. */
export const openPeers = ({config, storage: {nodeNo}, records, trust, now}: ClusterBase, closers: Closers) => {
  const {nodeDirectory: directory, membership, peerStates} = records;
  const credentials = {...trust.certificates.current().cluster, ca: trust.ca};
  const peers = startPeers({nodeNo, directory, credentials, routes: config.cluster.routes});
  closers.add(peers.close);
  // A removed node no longer communicates with the others.
  membership.onRemoved(peers.close);
  const authorities = createAuthorities({
    own: trust.authority,
    directory,
    peerStates,
    peers: peers.list,
    nodeNo,
    onRemoved: membership.removedBy,
  });
  return {peers, authorities, limiter: createRateLimiter({now, monotonic: () => performance.now()})};
};

/** A text that changes with everything that other nodes should receive within a second. */
export const createNews = (
  {records: {configuration, peerStates}, dependencies}: Pick<Base, 'records' | 'dependencies'>,
  limiter: RateLimiter,
): (() => string) => {
  let changes = 0;
  configuration.onChange(async () => {
    changes += 1;
  });
  return () => `${changes} ${limiter.taken} ${dependencies.version()} ${peerStates.unreached().join()}`;
};
