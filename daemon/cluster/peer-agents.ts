// The connections to one peer, kept alive, in lanes: what waits in one keeps none from the others.
import {X509Certificate} from 'node:crypto';
import {Agent} from 'node:https';
import type {PeerCertificate, TLSSocket} from 'node:tls';
import type {NodeIdentity} from '../services/ports.ts';
import type {KeyAndCertificate} from './certificates.ts';
import {identityIn} from './peer-identity.ts';

export type PeerCredentials = KeyAndCertificate & {ca: string};

/** What the nodes say to each other, what callers have looked up or done, and the mails that callers read, maybe slowly. */
export type Lane = 'own' | 'callers' | 'mails';

export interface PeerAgents {
  /** None of its connections is to a certificate that has ended since. */
  of(lane: Lane): Agent;
  /** Connections that are in no use end. */
  endIdle(lane: Lane): void;
  /** When the certificate that is shown ends. */
  endMs(): number;
  /** Connections from now on show this certificate; those that are open end when they fall idle. */
  setCertificate(pair: PeerCredentials): void;
  close(): void;
}

interface Needs {
  peer: NodeIdentity;
  credentials: PeerCredentials;
  maxSockets: Record<Lane, number>;
}

export const createPeerAgents = ({peer, credentials, maxSockets}: Needs): PeerAgents => {
  const openAgents = (pair: PeerCredentials) => {
    const agentOf = (lane: Lane) =>
      new Agent({
        keepAlive: true,
        maxSockets: maxSockets[lane],
        maxFreeSockets: 4,
        // Shorter than the peer's own keep-alive, so that no request meets a connection that is being closed.
        timeout: 30_000,
        ...pair,
        minVersion: 'TLSv1.3',
        servername: '',
        checkServerIdentity: (_host, certificate) => refuseStranger(peer, certificate),
      });
    const lanes: Record<Lane, Agent> = {own: agentOf('own'), callers: agentOf('callers'), mails: agentOf('mails')};
    return {pair, lanes, endMs: Date.parse(new X509Certificate(pair.cert).validTo)};
  };
  let current = openAgents(credentials);
  /** By connection: when the certificate of the peer ends. */
  const peerEnds = new WeakMap<TLSSocket, number>();
  const hasOutlivedPeer = (socket: TLSSocket): boolean => {
    const endMs = peerEnds.get(socket) ?? Date.parse(socket.getPeerCertificate().valid_to);
    peerEnds.set(socket, endMs);
    return endMs <= Date.now();
  };
  const replace = (pair: PeerCredentials): void => {
    const before = current;
    current = openAgents(pair);
    for (const agent of Object.values(before.lanes)) {
      agent.maxFreeSockets = 0;
      destroyIdle(agent);
    }
  };

  return {
    of(lane) {
      // The peer may have another one by now: new connections will tell.
      if (freeSocketsOf(current.lanes[lane]).some(hasOutlivedPeer)) replace(current.pair);
      return current.lanes[lane];
    },
    endIdle: lane => destroyIdle(current.lanes[lane]),
    endMs: () => current.endMs,
    setCertificate: replace,
    close() {
      for (const agent of Object.values(current.lanes)) agent.destroy();
    },
  };
};

/** One that was destroyed stays among them for a moment, and has no certificate any more. */
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
