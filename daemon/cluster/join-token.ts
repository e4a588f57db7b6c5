// Join token, as `mfctl cluster token` prints it: an address, the fingerprint of the authority, and a client certificate with its
// key. The certificate lets the bearer pass the TLS handshake of the cluster port, to request admission and nothing else.
import {createHash, X509Certificate} from 'node:crypto';
import {Fault} from '../../shared/fault.ts';
import {parseHostPort} from '../../shared/host-port.ts';
import type {Authority} from '../services/cluster/authority.ts';
import {issueRequested, issueTicket, type KeyAndCertificate} from './certificates.ts';
import {identityUris, uriIn} from './peer-identity.ts';

export interface JoinToken {
  /** SHA-256 of the CA certificate's DER. */
  caFingerprint: Buffer;
  /** Ed25519 private key, 32 bytes (RFC 8032). */
  seed: Buffer;
  /** DER of the client certificate for that key. */
  certificate: Buffer;
  /** `host:port` of the cluster port of the node that issued the token. */
  address: string;
}

const prefix = 'mfj1_';
const version = 1;
const hashBytes = 32;
const seedBytes = 32;
const checksumBytes = 8;
const headBytes = 1 + hashBytes + seedBytes + 2;
const uriPrefix = 'urn:mfd:join:';

/** Version, fingerprint, seed, length of the certificate, certificate, address, checksum; base64url after the prefix. */
export const encodeJoinToken = ({caFingerprint, seed, certificate, address}: JoinToken): string => {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(certificate.length);
  const body = Buffer.concat([Buffer.of(version), caFingerprint, seed, length, certificate, Buffer.from(address)]);
  return prefix + Buffer.concat([body, checksumOf(body)]).toString('base64url');
};

/** Ignores line breaks from copying. Throws a Fault `invalid_parameter` that says whether the text is not a token or a damaged one. */
export const decodeJoinToken = (text: string): JoinToken => {
  const compact = text.replace(/\s/g, '');
  if (compact === '')
    throw new Fault(
      'invalid_parameter',
      'this is not a join token: it is empty; mfctl cluster token makes one, and mfd join - reads it from standard input',
    );
  if (!compact.startsWith(prefix))
    throw new Fault('invalid_parameter', `this is not a join token: one begins with ${prefix}; mfctl cluster token makes one`);
  const encoded = compact.slice(prefix.length);
  const bytes = Buffer.from(encoded, 'base64url');
  // Buffer ignores invalid characters and surplus bits: such a text must not pass for the same token.
  if (bytes.toString('base64url') !== encoded || bytes.length < headBytes + checksumBytes) throw damaged();
  const body = bytes.subarray(0, -checksumBytes);
  if (!checksumOf(body).equals(bytes.subarray(-checksumBytes))) throw damaged();
  if (body[0] !== version)
    throw new Fault('invalid_parameter', 'this join token was made by another version of mfd; install that version here');

  const certificateEnd = headBytes + body.readUInt16BE(headBytes - 2);
  const address = body.subarray(certificateEnd).toString();
  if (certificateEnd > body.length || !parseHostPort(address)) throw damaged();
  return {
    caFingerprint: body.subarray(1, 1 + hashBytes),
    seed: body.subarray(1 + hashBytes, 1 + hashBytes + seedBytes),
    certificate: body.subarray(headBytes, certificateEnd),
    address,
  };
};

/** The URI in the certificate of the token with this id. */
export const joinUri = (tokenId: string): string => `${uriPrefix}${tokenId}`;

/** The token id in the subject alternative names of a verified certificate, as node:tls writes them. */
export const joinTokenIdIn = (subjectAltName: string | undefined): string | undefined => uriIn(subjectAltName, uriPrefix);

const checksumOf = (body: Buffer): Buffer => createHash('sha256').update(body).digest().subarray(0, checksumBytes);

const damaged = (): Fault =>
  new Fault('invalid_parameter', 'this join token is damaged: it was not copied whole, or something was added; copy it again');

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

/** Whether a token belongs to the cluster of this authority; throws when the text is not a token. */
export const isTokenFor = (caCert: string, token: string): boolean =>
  decodeJoinToken(token).caFingerprint.equals(fingerprintOf(new X509Certificate(caCert).raw));

export const fingerprintOf = (der: Buffer): Buffer => createHash('sha256').update(der).digest();
