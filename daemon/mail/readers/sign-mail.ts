import {Fault} from '../../../shared/fault.ts';
import type {DkimAlgorithm} from '../../../shared/field-rules.ts';
import {createHeaderReader, headerValues} from '../../services/intake/header-block.ts';
import {loadSigner} from './mailauth.ts';
import {wholeMail} from './whole-mail.ts';

export interface SigningKey {
  domain: string;
  selector: string;
  algorithm: DkimAlgorithm;
  private_key_pem: string;
}

const algorithms: Record<DkimAlgorithm, string> = {'rsa-2048': 'rsa-sha256', ed25519: 'ed25519-sha256'};

/**
 * The DKIM-Signature header fields to put before the mail, one per key, each ending in CRLF; empty without keys, and for a mail without
 * From, which no signature can cover (RFC 6376 section 5.4). Signs relaxed/relaxed (RFC 6376), with RSA or Ed25519 (RFC 8463), and reads the
 * mail once for all keys. Rejects with `unavailable` when signing fails: mail of a domain that signs must not leave without a signature.
 */
export const signMail = async (mail: Buffer, keys: readonly SigningKey[]): Promise<Buffer> => {
  const signatureData = keys.map(key => ({
    signingDomain: key.domain,
    selector: key.selector,
    privateKey: key.private_key_pem,
    algorithm: algorithms[key.algorithm],
  }));
  const [first] = signatureData;
  if (!first) return Buffer.alloc(0);

  const {dkimSign} = await loadSigner();
  const {signatures, errors} = await dkimSign(wholeMail(mail), {
    canonicalization: 'relaxed/relaxed',
    signTime: new Date(),
    // The declared type also requires one key at the top level, but only the list is used.
    ...first,
    signatureData,
  });

  const [error] = errors ?? [];
  if (error && !hasAuthor(mail)) return Buffer.alloc(0);
  if (error) throw new Fault('unavailable', 'The mail could not be signed; look at the DKIM keys of its domain', {cause: error});
  return Buffer.from(signatures, 'latin1');
};

const hasAuthor = (mail: Buffer): boolean => {
  const header = createHeaderReader();
  header.push(mail);
  return headerValues(header.fields(), 'from').length > 0;
};
