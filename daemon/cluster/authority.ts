// Adapter between the CA's key and certificate and the authority port of the services.
import {createHash, X509Certificate} from 'node:crypto';
import type {Authority} from '../services/cluster/authority.ts';
import {issueRequested, issueTicket, type KeyAndCertificate} from './certificates.ts';
import {decodeJoinToken, encodeJoinToken, joinUri} from './join-token.ts';
import {identityUris} from './peer-identity.ts';

export const createClusterAuthority = (pair: KeyAndCertificate, now: () => number): Authority => {
  const caFingerprint = fingerprintOf(new X509Certificate(pair.cert).raw);
  return {
    fingerprint: `sha256:${caFingerprint.toString('hex')}`,

    async issueToken({id, endMs, address}) {
      const ticket = await issueTicket(pair, {uri: joinUri(id), endMs}, now());
      return encodeJoinToken({caFingerprint, address, ...ticket});
    },

    async certify(node, {node_csr, api_csr, api_hosts: hosts}) {
      const uris = identityUris(node);
      return {
        node_cert: await issueRequested(pair, {request: node_csr, commonName: node.nodeId, hosts, uris}, now()),
        api_cert: await issueRequested(pair, {request: api_csr, commonName: hosts[0] ?? node.nodeId, hosts}, now()),
      };
    },
  };
};

/** Whether a token belongs to the cluster of this authority; throws when the text is no token. */
export const isTokenFor = (caCert: string, token: string): boolean =>
  decodeJoinToken(token).caFingerprint.equals(fingerprintOf(new X509Certificate(caCert).raw));

export const fingerprintOf = (der: Buffer): Buffer => createHash('sha256').update(der).digest();
