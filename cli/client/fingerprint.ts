// What tells one certificate from all others.
import {X509Certificate} from 'node:crypto';

/** `sha256:` and 64 hexadecimal digits, the way a cluster tells that of its authority; undefined when it is none. */
export const canonicalFingerprint = (text: string): string | undefined => {
  const digits = text
    .trim()
    .replace(/^sha-?256(:| fingerprint=)/i, '')
    .replaceAll(':', '')
    .toLowerCase();
  return /^[0-9a-f]{64}$/.test(digits) ? `sha256:${digits}` : undefined;
};

export const fingerprintOf = ({fingerprint256}: X509Certificate): string =>
  `sha256:${fingerprint256.replaceAll(':', '').toLowerCase()}`;

/** The first certificate of a PEM file, alone, if it is that one: whatever else there is in the file, nobody has trusted it. */
export const pinnedIn = (pem: string, fingerprint: string): string | undefined => {
  try {
    const certificate = new X509Certificate(pem);
    return fingerprintOf(certificate) === fingerprint ? certificate.toString() : undefined;
  } catch {
    return undefined;
  }
};
