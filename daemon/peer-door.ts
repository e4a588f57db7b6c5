// The port for other nodes, and for those who are about to become one.

import {listenOf} from './addresses.ts';
import {joinTokenIdIn} from './cluster/join-token.ts';
import type {PeerCredentials} from './cluster/peer-client.ts';
import {hostsIn, identityIn} from './cluster/peer-identity.ts';
import type {Config} from './config/schema.ts';
import {createPeerApi} from './http/peer-app.ts';
import {routePeerCluster} from './http/routes-peer-cluster.ts';
import {routePeerEvents} from './http/routes-peer-events.ts';
import {routePeerHold} from './http/routes-peer-hold.ts';
import {routePeerAdmission, routePeerTrust} from './http/routes-peer-join.ts';
import {listenMutualTls} from './listen.ts';
import type {NodeParts} from './node-parts.ts';
import type {Services} from './service-room.ts';
import type {NodeIdentity} from './services/ports.ts';

interface Needs extends Pick<NodeParts, 'log' | 'records' | 'nodeNo' | 'peers'> {
  config: Config;
  credentials: PeerCredentials;
  services: Services;
}

export const openPeerDoor = async ({
  config,
  credentials,
  records: {nodeDirectory, standing},
  nodeNo,
  peers,
  services,
  log,
}: Needs) => {
  const isMember = ({nodeId, nodeNo}: NodeIdentity) => nodeDirectory.findByNo(nodeNo)?.node_id === nodeId;
  const noteNames = (no: number, hosts: string[]) =>
    void services.issuedNames.shown(no, hosts).catch(error => log.error({err: error}, 'names of a certificate were not noted'));
  const wasRemoved = ({nodeNo: no}: NodeIdentity) => nodeDirectory.wasRemoved(no);
  const api = createPeerApi({
    identityIn,
    isMember,
    wasRemoved,
    heard: ({nodeNo}, remoteAddress) => services.neighbours.heard(nodeNo, remoteAddress),
    routes: [
      routePeerCluster({...services, standing, nodeNo, reach: peers.reach}),
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
      // Who is no node may still be joining.
      admits(subjectAltName) {
        const shown = identityIn(subjectAltName);
        if (shown) services.joining.seen(shown.nodeNo);
        if (shown && isMember(shown)) noteNames(shown.nodeNo, hostsIn(subjectAltName));
        return !shown || isMember(shown);
      },
      mayHearWhy(subjectAltName) {
        const shown = identityIn(subjectAltName);
        return shown !== undefined && wasRemoved(shown);
      },
    },
    api.callback(),
  );
  nodeDirectory.onChange(listener.expel);
  return listener;
};
