// Listener for other nodes, and for those that are about to join.

import type {Logger} from 'pino';
import {joinTokenIdIn} from '../cluster/join-token.ts';
import type {PeerCredentials} from '../cluster/peer-client.ts';
import {hostsIn, identityIn} from '../cluster/peer-identity.ts';
import type {Peers} from '../cluster/peers.ts';
import type {Config} from '../config/schema.ts';
import {createPeerApi} from '../http/peer/peer-app.ts';
import {routePeerCluster} from '../http/peer/routes-peer-cluster.ts';
import {routePeerEvents} from '../http/peer/routes-peer-events.ts';
import {routePeerHold} from '../http/peer/routes-peer-hold.ts';
import {routePeerAdmission, routePeerTrust} from '../http/peer/routes-peer-join.ts';
import type {NodeIdentity} from '../services/access/actor.ts';
import {validityOf} from '../services/cluster/certificate-validity.ts';
import {listenOf} from './addresses.ts';
import {listenMutualTls} from './listen.ts';
import type {Records} from './records.ts';
import type {ReplicationParts} from './replication.ts';
import type {Services} from './services.ts';

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
