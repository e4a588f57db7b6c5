// Trusted certificates for connections to a node: the given CA, or those that Node ships.
import {X509Certificate} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {createSecureContext, rootCertificates} from 'node:tls';

/**
 * TLS options that trust `ca`, in PEM, and nothing else; without it what Node trusts, which is its own list and that of
 * NODE_EXTRA_CA_CERTS.
 */
export const trusting = (ca: string | undefined): {ca?: string | string[]} => {
  if (!process.execArgv.includes(withoutList)) return ca === undefined ? {} : {ca};
  forgetSystem();
  return {ca: ca ?? [...rootCertificates, ...extraCertificates()]};
};

/** One of the root certificates that Node ships. */
export const isPublicRoot = (certificate: X509Certificate): boolean =>
  rootCertificates.some(pem => base64Of(pem) === base64Of(certificate.toString()));

const base64Of = (pem: string): string => pem.replace(/-----[A-Z ]+-----|\s/g, '');

/** The option that bin/mfctl starts Node with, so that Node does not parse its list needlessly. */
const withoutList = '--use-openssl-ca';

let hasForgotten = false;
/** In place of its list Node would now read that of the system, which is as long; it reads either once, when it is first needed. */
const forgetSystem = (): void => {
  if (hasForgotten) return;
  hasForgotten = true;
  const {SSL_CERT_FILE, SSL_CERT_DIR} = process.env;
  Object.assign(process.env, {SSL_CERT_FILE: '/dev/null', SSL_CERT_DIR: '/dev/null'});
  createSecureContext();
  putBack({SSL_CERT_FILE, SSL_CERT_DIR});
};

/** An editor that mfctl starts may need them. */
const putBack = (environment: Record<string, string | undefined>): void => {
  for (const [name, value] of Object.entries(environment))
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
};

/** If the file cannot be read, Node has already warned at its start. */
const extraCertificates = (): string[] => {
  const {NODE_EXTRA_CA_CERTS: file} = process.env;
  try {
    return file ? [readFileSync(file, 'utf8')] : [];
  } catch {
    return [];
  }
};

/** `sha256:` and 64 hexadecimal digits, as a cluster writes the fingerprint of its CA; undefined for anything else. */
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

/** The first certificate of a PEM file, alone, if it has that fingerprint: nobody has trusted the others in the file. */
export const pinnedIn = (pem: string, fingerprint: string): string | undefined => {
  try {
    const certificate = new X509Certificate(pem);
    return fingerprintOf(certificate) === fingerprint ? certificate.toString() : undefined;
  } catch {
    return undefined;
  }
};
