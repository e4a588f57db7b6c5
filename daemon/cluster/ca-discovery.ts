// The first look at a cluster that nothing but a fingerprint is known of: who answers, and with which authority.
import {type DetailedPeerCertificate, connect as tlsConnect} from 'node:tls';
import type {HostPort} from '../../shared/host-port.ts';
import type {NodeIdentity} from '../services/ports.ts';
import {fingerprintOf} from './authority.ts';
import {identityIn} from './peer-identity.ts';

export interface FirstContact {
  /** PEM; it has the fingerprint. */
  ca: string;
  /** Who the node there says it is. Not verified yet: the next connection does that, with `ca`. */
  peer: NodeIdentity;
}

const deadlineMs = 10_000;

/** Sends nothing. Resolves with undefined when another authority, or none, vouches for who answers; rejects when nobody does. */
export const lookAt = async ({host, port}: HostPort, caFingerprint: Buffer): Promise<FirstContact | undefined> =>
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
    // After the first look the other side may complain that it was shown no certificate.
    socket.on('error', reject);
    socket.once('close', () => {
      clearTimeout(deadline);
      reject(new Error('the connection was closed'));
    });
  });

const chainOf = (leaf: DetailedPeerCertificate): DetailedPeerCertificate[] => {
  const chain: DetailedPeerCertificate[] = [];
  // The last one is its own issuer.
  for (let next: DetailedPeerCertificate | undefined = leaf; next?.raw && !chain.includes(next); next = next.issuerCertificate)
    chain.push(next);
  return chain;
};

const pemOf = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`;
