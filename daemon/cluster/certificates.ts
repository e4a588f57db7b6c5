// The cluster's certificate authority and the certificates it gives out. ECDSA P-256 throughout.
import 'reflect-metadata';
import {randomBytes, webcrypto} from 'node:crypto';
import {isIP} from 'node:net';
import * as x509 from '@peculiar/x509';

const algorithm = {name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256'};
const dayMs = 24 * 3600 * 1000;
const caYears = 20;
const leafDays = 90;

x509.cryptoProvider.set(webcrypto as never);

export interface KeyAndCertificate {
  /** PKCS #8, PEM. */
  key: string;
  /** PEM. */
  cert: string;
}

export const createAuthority = async (nowMs: number): Promise<KeyAndCertificate> => {
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
  return {key: await pemOf(keys.privateKey), cert: `${cert.toString('pem')}\n`};
};

export interface LeafRequest {
  commonName: string;
  /** Host names and addresses the certificate is for. */
  hosts: string[];
  /** With these it is good for clients too: who a node is, see `identityUris`. */
  uris?: string[];
}

/** A certificate for servers and, between nodes, clients; good for 90 days from `nowMs`. */
export const issueLeaf = async (
  authority: KeyAndCertificate,
  {commonName, hosts, uris = []}: LeafRequest,
  nowMs: number,
): Promise<KeyAndCertificate> => {
  const issuer = new x509.X509Certificate(authority.cert);
  const keys = await generateKeys();
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: `CN=${commonName.slice(0, 64).replace(/[^A-Za-z0-9.-]/g, '-')}`,
    issuer: issuer.subject,
    notBefore: new Date(nowMs - dayMs),
    notAfter: new Date(nowMs + leafDays * dayMs),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        x509.ExtendedKeyUsage.serverAuth,
        ...(uris.length > 0 ? [x509.ExtendedKeyUsage.clientAuth] : []),
      ]),
      new x509.SubjectAlternativeNameExtension([
        ...[...new Set(hosts)].map(host => ({type: isIP(host) ? ('ip' as const) : ('dns' as const), value: host})),
        ...uris.map(uri => ({type: 'url' as const, value: uri})),
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {key: await pemOf(keys.privateKey), cert: `${cert.toString('pem')}\n`};
};

/** Whether a certificate is past two thirds of its life, or lacks one of `names`: hosts, addresses and URIs. */
export const needsRenewal = (pem: string, names: string[], nowMs: number): boolean => {
  const cert = new x509.X509Certificate(pem);
  const from = cert.notBefore.getTime();
  const lifeMs = cert.notAfter.getTime() - from;
  const shown =
    cert
      .getExtension(x509.SubjectAlternativeNameExtension)
      ?.names.toJSON()
      .map(({value}) => value) ?? [];
  return nowMs > from + (lifeMs * 2) / 3 || !names.every(name => shown.includes(name));
};

const generateKeys = async (): Promise<webcrypto.CryptoKeyPair> =>
  (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;

/** 159 random bits, positive (RFC 5280 section 4.1.2.2). */
const serial = (): string => {
  const bytes = randomBytes(20);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
};

const pemOf = async (key: webcrypto.CryptoKey): Promise<string> =>
  x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY').concat('\n');

const importKey = async (pem: string): Promise<webcrypto.CryptoKey> =>
  (await webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(pem), algorithm, false, [
    'sign',
  ])) as webcrypto.CryptoKey;
