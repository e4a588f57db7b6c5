// Kept-alive connections to one peer, in separate connection pools, so that waiting requests of one pool do not block the others.

import {X509Certificate} from 'node:crypto';
import {Agent} from 'node:https';
import type {PeerCertificate, TLSSocket} from 'node:tls';
import type {NodeIdentity} from '../services/actor.ts';
import type {KeyAndCertificate} from './certificates.ts';
import {identityIn} from './peer-identity.ts';

export type PeerCredentials = KeyAndCertificate & {ca: string};

/** `own`: traffic between the nodes; `callers`: requests for callers; `mails`: mails that callers read, perhaps slowly. */
export type PeerPool = 'own' | 'callers' | 'mails';

interface Needs {
  peer: NodeIdentity;
  credentials: PeerCredentials;
  maxSockets: Record<PeerPool, number>;
}

export const createPeerAgents = ({peer, credentials, maxSockets}: Needs) => {
  const openAgents = (pair: PeerCredentials) => {
    const agentOf = (pool: PeerPool) =>
      new Agent({
        keepAlive: true,
        maxSockets: maxSockets[pool],
        maxFreeSockets: 4,
        // Shorter than the peer's own keep-alive, so that no request uses a connection while the peer closes it.
        timeout: 30_000,
        ...pair,
        minVersion: 'TLSv1.3',
        servername: '',
        checkServerIdentity: (_host, certificate) => refuseStranger(peer, certificate),
      });
    const pools: Record<PeerPool, Agent> = {own: agentOf('own'), callers: agentOf('callers'), mails: agentOf('mails')};
    return {pair, pools, endMs: Date.parse(new X509Certificate(pair.cert).validTo)};
  };
  let current = openAgents(credentials);
  /** Expiry of the peer's certificate, by connection. */
  const peerEnds = new WeakMap<TLSSocket, number>();
  const hasOutlivedPeer = (socket: TLSSocket): boolean => {
    const endMs = peerEnds.get(socket) ?? Date.parse(socket.getPeerCertificate().valid_to);
    peerEnds.set(socket, endMs);
    return endMs <= Date.now();
  };
  const replace = (pair: PeerCredentials): void => {
    const before = current;
    current = openAgents(pair);
    for (const agent of Object.values(before.pools)) {
      agent.maxFreeSockets = 0;
      destroyIdle(agent);
    }
  };

  return {
    /** The agent of the pool, without idle connections to a certificate that has expired. */
    of(pool: PeerPool): Agent {
      // The peer may have a new certificate by now, which only a new connection shows.
      if (freeSocketsOf(current.pools[pool]).some(hasOutlivedPeer)) replace(current.pair);
      return current.pools[pool];
    },
    endIdle: (pool: PeerPool): void => destroyIdle(current.pools[pool]),
    /** When the node's own certificate expires. */
    endMs: (): number => current.endMs,
    /** New connections use this certificate; open ones end when they become idle. */
    setCertificate: replace,
    close(): void {
      for (const agent of Object.values(current.pools)) agent.destroy();
    },
  };
};

/** Without destroyed sockets, which stay in the list for a moment and have no certificate any more. */
const freeSocketsOf = (agent: Agent): TLSSocket[] =>
  Object.values(agent.freeSockets)
    .flatMap(sockets => (sockets ?? []) as TLSSocket[])
    .filter(({destroyed}) => !destroyed);

const destroyIdle = (agent: Agent): void => {
  for (const socket of freeSocketsOf(agent)) socket.destroy();
};

const refuseStranger = ({nodeId, nodeNo}: NodeIdentity, certificate: PeerCertificate): Error | undefined => {
  const shown = identityIn(certificate.subjectaltname);
  if (shown?.nodeId === nodeId && shown.nodeNo === nodeNo) return undefined;
  return new Error(`the certificate there is not the one of ${nodeId}`);
};
