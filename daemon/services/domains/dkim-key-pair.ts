// Generation of DKIM key pairs and their DNS records.
import {generateKeyPair as generate, type KeyObject} from 'node:crypto';
import {promisify} from 'node:util';
import type {DkimAlgorithm} from '../../../shared/dkim-algorithm.ts';

const generateKeyPair = promisify(generate);

export interface DkimKeyPair {
  /** PKCS #8. */
  private_key_pem: string;
  /** Base64, in the form of `p=` in the DNS record. */
  public_key: string;
}

/** Generates a key pair. RSA takes a few hundred milliseconds, off the main thread. */
export const generateDkimKey = async (algorithm: DkimAlgorithm): Promise<DkimKeyPair> => {
  switch (algorithm) {
    case 'rsa-2048': {
      const {privateKey, publicKey} = await generateKeyPair('rsa', {modulusLength: 2048});
      return {private_key_pem: pem(privateKey), public_key: spki(publicKey).toString('base64')};
    }
    case 'ed25519': {
      const {privateKey, publicKey} = await generateKeyPair('ed25519');
      // RFC 8463 section 4.2 publishes only the 32 bytes of the key, which are the end of the SubjectPublicKeyInfo.
      return {private_key_pem: pem(privateKey), public_key: spki(publicKey).subarray(-32).toString('base64')};
    }
    default:
      return algorithm satisfies never;
  }
};

const pem = (key: KeyObject): string => key.export({type: 'pkcs8', format: 'pem'}).toString();

const spki = (key: KeyObject): Buffer => key.export({type: 'spki', format: 'der'});

const keyTypes: Record<DkimAlgorithm, string> = {'rsa-2048': 'rsa', ed25519: 'ed25519'};

/** The TXT record of a public key as one string (RFC 6376 section 3.6.1). DNS requires strings of at most 255 characters. */
export const dkimRecord = (key: {algorithm: DkimAlgorithm; public_key: string}): string =>
  `v=DKIM1; k=${keyTypes[key.algorithm]}; p=${key.public_key}`;
