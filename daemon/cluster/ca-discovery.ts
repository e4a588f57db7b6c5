// Discovery of a cluster's authority by its fingerprint, for a node that knows nothing else of the cluster.

import {type DetailedPeerCertificate, connect as tlsConnect} from 'node:tls';
import type {HostPort} from '../../shared/host-port.ts';
import type {NodeIdentity} from '../services/actor.ts';
import {fingerprintOf} from './join-token.ts';
import {identityIn} from './peer-identity.ts';

export interface DiscoveredCa {
  /** The certificate with the fingerprint, PEM. */
  ca: string;
  /** The identity that the node claims. The next connection verifies it, with `ca`. */
  peer: NodeIdentity;
}

const deadlineMs = 10_000;

/**
 * Sends no request. Resolves with undefined when the chain of the node that answers does not have this authority; rejects when
 * nothing answers.
 */
export const discoverCa = async ({host, port}: HostPort, caFingerprint: Buffer): Promise<DiscoveredCa | undefined> =>
  new Promise((resolve, reject) => {
    const socket = tlsConnect({host, port, servername: '', rejectUnauthorized: false, minVersion: 'TLSv1.3'});
    const deadline = setTimeout(() => socket.destroy(new Error(`no answer within ${deadlineMs / 1000} s`)), deadlineMs);
    socket.once('secureConnect', () => {
      const leaf = socket.getPeerCertificate(true);
      const ca = chainOf(leaf).find(({raw}) => fingerprintOf(raw).equals(caFingerprint));
      const peer = identityIn(leaf.subjectaltname);
      resolve(ca && peer ? {ca: pemOf(ca.raw), peer} : undefined);
      socket.destroy();
    });
    // Errors after the handshake change nothing: the other side may reject a client without a certificate.
    socket.on('error', reject);
    socket.once('close', () => {
      clearTimeout(deadline);
      reject(new Error('the connection was closed'));
    });
  });

const chainOf = (leaf: DetailedPeerCertificate): DetailedPeerCertificate[] => {
  const chain: DetailedPeerCertificate[] = [];
  // The last certificate is its own issuer.
  for (let next: DetailedPeerCertificate | undefined = leaf; next?.raw && !chain.includes(next); next = next.issuerCertificate)
    chain.push(next);
  return chain;
};

const pemOf = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`;
