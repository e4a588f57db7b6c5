// Verification of client certificates on the cluster port, which also accepts expired ones of the authority and reports them as such.
import type {X509Certificate} from 'node:crypto';
import type {TLSSocket} from 'node:tls';
import type {ShownCertificate} from '../services/cluster/certificate-validity.ts';

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
