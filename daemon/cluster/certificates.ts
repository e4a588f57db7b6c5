// Certificate authority of the cluster, and the certificates that it issues. All node keys are ECDSA P-256.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  KeyObject,
  randomBytes,
  webcrypto,
  X509Certificate,
} from 'node:crypto';
import {isIP} from 'node:net';
import type * as x509Types from '@peculiar/x509';
import {Fault} from '../../shared/fault.ts';
import {canonicalHost} from '../../shared/host-port.ts';
import {hostsIn, urisIn} from './peer-identity.ts';

const algorithm = {name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256'};
const dayMs = 24 * 3600 * 1000;
const caYears = 20;
const leafDays = 90;

/** Loaded only when a certificate is made, once in months: the library takes a tenth of the memory of an idle node. */
const loadX509 = async (): Promise<typeof x509Types> => {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto as never);
  return x509;
};

export interface KeyAndCertificate {
  /** PKCS #8, PEM. */
  key: string;
  /** PEM. */
  cert: string;
}

export const createAuthority = async (nowMs: number): Promise<KeyAndCertificate> => {
  const x509 = await loadX509();
  const keys = await generateKeys();
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: `CN=mfd cluster CA ${randomBytes(4).toString('hex')}`,
    notBefore: new Date(nowMs - dayMs),
    notAfter: new Date(nowMs + caYears * 365 * dayMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {key: pemOf(keys.privateKey), cert: `${cert.toString('pem')}\n`};
};

export interface LeafRequest {
  commonName: string;
  /** Host names and addresses that the certificate is valid for. */
  hosts: string[];
  /** With URIs the certificate is valid for clients too. They identify a node, see `identityUris`. */
  uris?: string[];
}

/** A certificate for servers and, with URIs, for clients; valid for 90 days from `nowMs`. */
export const issueLeaf = async (
  authority: KeyAndCertificate,
  request: LeafRequest,
  nowMs: number,
): Promise<KeyAndCertificate> => {
  const keys = await generateKeys();
  return {key: pemOf(keys.privateKey), cert: await certify(authority, {...request, publicKey: keys.publicKey}, nowMs)};
};

/** A key that never leaves the node, and the certificate request (PKCS #10, PEM) for it. */
export const createRequest = async (): Promise<{key: string; request: string}> => {
  const x509 = await loadX509();
  const keys = await generateKeys();
  const request = await x509.Pkcs10CertificateRequestGenerator.create({name: 'CN=mfd', keys, signingAlgorithm: algorithm});
  return {key: pemOf(keys.privateKey), request: `${request.toString('pem')}\n`};
};

/**
 * A certificate for the key of `request`, which has to be signed with that key; everything else in the request is ignored.
 * Throws a Fault `validation_failed` when the request is malformed.
 */
export const issueRequested = async (
  authority: KeyAndCertificate,
  {request, ...leaf}: LeafRequest & {request: string},
  nowMs: number,
): Promise<string> => certify(authority, {...leaf, publicKey: await keyIn(request)}, nowMs);

/**
 * A client certificate with nothing but `uri` in it, for a new Ed25519 key, whose 32 secret bytes fit into a token. Nodes use
 * P-256 instead, because browsers support it.
 */
export const issueTicket = async (
  authority: KeyAndCertificate,
  {uri, endMs}: {uri: string; endMs: number},
  nowMs: number,
): Promise<{seed: Buffer; certificate: Buffer}> => {
  const {privateKey, publicKey} = generateKeyPairSync('ed25519');
  const {d = ''} = privateKey.export({format: 'jwk'});
  const pem = await certify(
    authority,
    {commonName: 'mfd join', hosts: [], uris: [uri], endMs, publicKey: publicKey.export({type: 'spki', format: 'der'})},
    nowMs,
  );
  return {seed: Buffer.from(d, 'base64url'), certificate: new X509Certificate(pem).raw};
};

/** The private key (PKCS #8, PEM) with these 32 secret bytes. */
export const ticketKey = (seed: Buffer): string => {
  // RFC 8410 section 7: the fixed prefix of an Ed25519 key.
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  return createPrivateKey({key: der, format: 'der', type: 'pkcs8'}).export({type: 'pkcs8', format: 'pem'}).toString();
};

interface Certification extends LeafRequest {
  publicKey: webcrypto.CryptoKey | x509Types.PublicKey | Buffer;
  /** Makes the certificate valid for clients only, and until then instead of for 90 days. */
  endMs?: number;
}

const certify = async (
  authority: KeyAndCertificate,
  {commonName, hosts, uris = [], publicKey, endMs}: Certification,
  nowMs: number,
): Promise<string> => {
  const x509 = await loadX509();
  const issuer = new x509.X509Certificate(authority.cert);
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: `CN=${commonName.slice(0, 64).replace(/[^A-Za-z0-9.-]/g, '-')}`,
    issuer: issuer.subject,
    notBefore: new Date(nowMs - dayMs),
    notAfter: new Date(endMs ?? nowMs + leafDays * dayMs),
    signingAlgorithm: algorithm,
    publicKey,
    signingKey: await importKey(authority.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        ...(endMs === undefined ? [x509.ExtendedKeyUsage.serverAuth] : []),
        ...(uris.length > 0 ? [x509.ExtendedKeyUsage.clientAuth] : []),
      ]),
      new x509.SubjectAlternativeNameExtension([
        ...[...new Set(hosts.map(canonicalHost))].map(host => ({
          type: isIP(host) ? ('ip' as const) : ('dns' as const),
          value: host,
        })),
        ...uris.map(uri => ({type: 'url' as const, value: uri})),
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
    ],
  });
  return `${cert.toString('pem')}\n`;
};

const keyIn = async (pem: string): Promise<x509Types.PublicKey> => {
  const x509 = await loadX509();
  const wrong = (cause?: unknown) =>
    new Fault('validation_failed', 'this is not a certificate request (PKCS #10, PEM) that is signed with its own P-256 key', {
      cause,
    });
  try {
    const request = new x509.Pkcs10CertificateRequest(pem);
    const key = createPublicKey({key: Buffer.from(request.publicKey.rawData), format: 'der', type: 'spki'});
    if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1' || !(await request.verify())) throw wrong();
    return request.publicKey;
  } catch (error) {
    throw error instanceof Fault ? error : wrong(error);
  }
};

/** Whether a certificate is past two thirds of its lifetime, or lacks one of the wanted names. */
export const needsRenewal = (pem: string, {hosts, uris = []}: Omit<LeafRequest, 'commonName'>, nowMs: number): boolean => {
  const {validFrom, validTo, subjectAltName} = new X509Certificate(pem);
  const from = Date.parse(validFrom);
  const lifeMs = Date.parse(validTo) - from;
  const shownHosts = hostsIn(subjectAltName).map(canonicalHost);
  const shownUris = urisIn(subjectAltName);
  const hasAll = hosts.every(host => shownHosts.includes(canonicalHost(host))) && uris.every(uri => shownUris.includes(uri));
  return nowMs > from + (lifeMs * 2) / 3 || !hasAll;
};

const generateKeys = async (): Promise<webcrypto.CryptoKeyPair> =>
  (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;

/** 159 random bits, positive (RFC 5280 section 4.1.2.2). */
const serial = (): string => {
  const bytes = randomBytes(20);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
};

const pemOf = (key: webcrypto.CryptoKey): string => KeyObject.from(key).export({type: 'pkcs8', format: 'pem'}).toString();

const importKey = async (pem: string): Promise<webcrypto.CryptoKey> => {
  const der = createPrivateKey(pem).export({type: 'pkcs8', format: 'der'});
  return (await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign'])) as webcrypto.CryptoKey;
};
