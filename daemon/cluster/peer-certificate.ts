// Whether the authority vouches for the certificate that a client has shown on the cluster port, also when that has ended.
import type {X509Certificate} from 'node:crypto';
import type {TLSSocket} from 'node:tls';
import type {ShownCertificate} from '../services/cluster/certificate-validity.ts';

/** Extended key usage of TLS clients (RFC 5280 section 4.2.1.12). */
const clientAuth = '1.3.6.1.5.5.7.3.2';

/** For a server that requests certificates and rejects none by itself. Undefined when the authority does not vouch for what was shown. */
export const verifiedCertificate = (socket: TLSSocket, authority: X509Certificate): ShownCertificate | undefined => {
  const shown = socket.getPeerX509Certificate();
  if (!shown || !(socket.authorized || isOursButEnded(socket, shown, authority))) return undefined;
  return {subjectAltName: shown.subjectAltName, endMs: Date.parse(shown.validTo)};
};

/** OpenSSL names one error only, and this one hides all others: whatever else it looks at is looked at here. */
const isOursButEnded = ({authorizationError}: TLSSocket, shown: X509Certificate, authority: X509Certificate): boolean =>
  // Node gives the code as a string here, in spite of its types.
  String(authorizationError) === 'CERT_HAS_EXPIRED' &&
  !hasEnded(authority) &&
  Date.parse(shown.validFrom) <= Date.now() &&
  !shown.ca &&
  // Absent, in spite of its types, where a certificate does not say what it is for.
  (shown.keyUsage as string[] | undefined)?.includes(clientAuth) === true &&
  shown.verify(authority.publicKey);

const hasEnded = ({validTo}: Pick<X509Certificate, 'validTo'>): boolean => Date.parse(validTo) <= Date.now();
