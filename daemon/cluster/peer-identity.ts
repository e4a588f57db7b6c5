// Identity of a node in its certificate, as URIs among the subject alternative names: its id and its number. Numbers are never
// reused, so that a node that takes the name of a removed one is not mistaken for it.

import type {X509Certificate} from 'node:crypto';
import type {TLSSocket} from 'node:tls';
import {nodeUriPrefix} from '../../shared/node-uri.ts';
import type {NodeIdentity} from '../services/actor.ts';
import type {ShownCertificate} from '../services/cluster/certificate-names.ts';

const noPrefix = 'urn:mfd:node-no:';

export const identityUris = ({nodeId, nodeNo}: NodeIdentity): string[] => [`${nodeUriPrefix}${nodeId}`, `${noPrefix}${nodeNo}`];

/** Reads the subject alternative names of a verified certificate, as node:tls formats them. */
export const identityIn = (subjectAltName: string | undefined): NodeIdentity | undefined => {
  const valueIn = (prefix: string) => uriIn(subjectAltName, prefix);
  const nodeId = valueIn(nodeUriPrefix);
  const nodeNo = Number(valueIn(noPrefix));
  return nodeId !== undefined && Number.isSafeInteger(nodeNo) && nodeNo > 0 ? {nodeId, nodeNo} : undefined;
};

/** The host names and addresses among the subject alternative names. */
export const hostsIn = (subjectAltName: string | undefined): string[] =>
  namesIn(subjectAltName).flatMap(name => /^(?:DNS|IP Address):(.+)$/.exec(name)?.[1] ?? []);

export const urisIn = (subjectAltName: string | undefined): string[] =>
  namesIn(subjectAltName).flatMap(name => /^URI:(.+)$/.exec(name)?.[1] ?? []);

/** The text after `prefix` in the first URI that begins with it. */
export const uriIn = (subjectAltName: string | undefined, prefix: string): string | undefined => {
  const start = `URI:${prefix}`;
  return namesIn(subjectAltName)
    .find(name => name.startsWith(start))
    ?.slice(start.length);
};

/** Node quotes names that contain a comma, as these could be mistaken for several names. The authority issues no such name. */
const namesIn = (subjectAltName: string | undefined): string[] =>
  subjectAltName === undefined || subjectAltName.includes('"') ? [] : subjectAltName.split(', ');

/** Extended key usage of TLS clients (RFC 5280 section 4.2.1.12). */
const clientAuth = '1.3.6.1.5.5.7.3.2';

/** For a server that requests certificates without rejecting any. Undefined when the authority has not issued the certificate. */
export const verifiedCertificate = (socket: TLSSocket, authority: X509Certificate): ShownCertificate | undefined => {
  const shown = socket.getPeerX509Certificate();
  if (!shown || !(socket.authorized || isOursButEnded(socket, shown, authority))) return undefined;
  return {subjectAltName: shown.subjectAltName, endMs: Date.parse(shown.validTo)};
};

/** OpenSSL reports one error only, and "expired" hides all others, so the other checks are repeated here. */
const isOursButEnded = ({authorizationError}: TLSSocket, shown: X509Certificate, authority: X509Certificate): boolean =>
  // Node returns the code as a string here, contrary to its types.
  String(authorizationError) === 'CERT_HAS_EXPIRED' &&
  !hasEnded(authority) &&
  Date.parse(shown.validFrom) <= Date.now() &&
  !shown.ca &&
  // Absent, contrary to its types, when a certificate has no extended key usage.
  (shown.keyUsage as string[] | undefined)?.includes(clientAuth) === true &&
  shown.verify(authority.publicKey);

const hasEnded = ({validTo}: Pick<X509Certificate, 'validTo'>): boolean => Date.parse(validTo) <= Date.now();
