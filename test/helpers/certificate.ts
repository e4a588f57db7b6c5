// reflect-metadata must be loaded before x509.
import 'reflect-metadata';
import {webcrypto} from 'node:crypto';
import {PemConverter, X509CertificateGenerator} from '@peculiar/x509';

/** A key and a self-signed certificate, in PEM, for a day unless it ends at another time. */
export const selfSigned = async (
  commonName: string,
  notAfter = new Date(Date.now() + 86_400_000),
): Promise<{key: string; cert: string}> => {
  const algorithm = {name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256'};
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${commonName}`,
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 60_000),
    notAfter,
  });
  const key = PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return {key, cert: certificate.toString('pem')};
};
