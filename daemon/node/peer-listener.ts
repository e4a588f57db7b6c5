// Listeners for other nodes, for those that are about to join, and for metrics.
import type {Logger} from 'pino';
import {joinTokenIdIn} from '../cluster/join-token.ts';
import type {PeerCredentials} from '../cluster/peer-client.ts';
import {hostsIn, identityIn} from '../cluster/peer-identity.ts';
import type {Peers} from '../cluster/peers.ts';
import type {Config} from '../config/schema.ts';
import type {Metrics} from '../http/metrics.ts';
import {createMetricsApp} from '../http/metrics-app.ts';
import {createPeerApi} from '../http/peer/peer-app.ts';
import {routePeerAdmission, routePeerCluster, routePeerEvents, routePeerTrust} from '../http/peer/routes-peer-cluster.ts';
import {routePeerHold} from '../http/peer/routes-peer-hold.ts';
import type {NodeIdentity} from '../services/access/actor.ts';
import {validityOf} from '../services/cluster/certificate-names.ts';
import type {ReplicationParts} from './cluster.ts';
import {listenOf} from './free-addresses.ts';
import {type Listener, listenHttp, listenMutualTls} from './listen.ts';
import type {Records} from './records.ts';
import type {Services} from './services.ts';
import type {Storage} from './storage.ts';
import type {CutOff} from './trust.ts';

interface Needs {
  config: Config;
  credentials: PeerCredentials;
  nodeNo: number;
  records: Records;
  peers: Peers;
  replicated: ReplicationParts;
  services: Services;
  log: Logger;
}

export const openPeerListener = async ({
  config,
  credentials,
  records: {nodeDirectory, membership},
  nodeNo,
  peers,
  replicated,
  services,
  log,
}: Needs) => {
  const isMember = ({nodeId, nodeNo}: NodeIdentity) => nodeDirectory.findByNo(nodeNo)?.node_id === nodeId;
  const noteNames = (no: number, hosts: string[]) =>
    void services.issuedNames
      .shown(no, hosts)
      .catch(error => log.error({err: error}, 'the names in a certificate could not be stored'));
  const wasRemoved = ({nodeNo: no}: NodeIdentity) => nodeDirectory.wasRemoved(no);
  const api = createPeerApi({
    identityIn,
    isMember,
    wasRemoved,
    noteAddress: ({nodeNo}, remoteAddress) => services.colocatedNodes.noteAddress(nodeNo, remoteAddress),
    routes: [
      routePeerCluster({...replicated, membership, nodeNo, reach: peers.reach}),
      routePeerTrust({...services, hostsIn}),
      routePeerHold(services.forPeers),
      routePeerEvents(services.forPeers),
    ],
    openRoutes: [routePeerAdmission({...services, tokenIdIn: joinTokenIdIn})],
    log,
  });
  const listener = await listenMutualTls(
    listenOf(config.cluster.listen),
    {
      ...credentials,
      // A client without a node identity may be joining.
      admits({subjectAltName, endMs}) {
        const validity = validityOf({endMs}, Date.now());
        const shown = identityIn(subjectAltName);
        if (!shown) return validity === 'valid';
        services.joining.seen(shown.nodeNo);
        if (!isMember(shown)) return false;
        // The names in an expired certificate may now belong to another node.
        if (validity === 'valid') noteNames(shown.nodeNo, hostsIn(subjectAltName));
        return validity !== 'outdated';
      },
      mayGetReason({subjectAltName}) {
        const shown = identityIn(subjectAltName);
        return shown !== undefined && wasRemoved(shown);
      },
    },
    api.callback(),
  );
  nodeDirectory.onChange(listener.expel);
  return listener;
};

interface MetricsListenerNeeds extends Pick<Storage, 'store' | 'reserveFile'> {
  config: Config;
  records: Records;
  services: Pick<Services, 'cluster'>;
  metrics: Metrics;
  cutOff: CutOff;
  log: Logger;
  /** PEM, by listener. */
  certificates(): Record<string, string>;
  phase(): 'starting' | 'open' | 'stopping';
}

export const openMetricsListener = async (needs: MetricsListenerNeeds): Promise<Listener> => {
  const {config, services, store, reserveFile, records, metrics, cutOff, log} = needs;
  const app = createMetricsApp({
    metrics,
    log,
    source: {
      clusterStatus: services.cluster.status,
      held: async () => store.hold.counts(),
      outboxDepth: async () => store.outbox.depth(),
      clockSkews: records.peerStates.skews,
      hasSpace: reserveFile.hasSpace,
      certificates: needs.certificates,
    },
    unready: async () => [
      ...(needs.phase() === 'open' ? [] : [`the node is ${needs.phase()}`]),
      ...[records.membership.advice()].filter(advice => advice !== undefined),
      ...[store.damage()].filter(text => text !== undefined).map(text => `the database is damaged: ${text}`),
      ...(reserveFile.hasSpace() ? [] : ['the disk is nearly full: new mail is answered 452']),
    ],
    // Mail does not depend on the other nodes, so their state is only a remark.
    remarks: () => [cutOff.advice()].filter(advice => advice !== undefined),
  });
  return listenHttp(listenOf(config.metrics.listen), app.callback());
};
