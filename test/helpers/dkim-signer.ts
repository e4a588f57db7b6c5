// A signer of its own for DKIM (RFC 6376), which writes the field as a test wants it.
import {createHash, createPublicKey, type KeyObject, sign} from 'node:crypto';

export interface Signed {
  /** From the first field to the blank line, without a signature; lines end in CRLF. */
  header: string;
  body: string;
  /** The value of the field, with `@bh@` and `@b@` in the places of the hash of the body and of the signature. */
  template: string;
  key: KeyObject;
  /** Names of the fields that are signed, all of them once. */
  fields?: string[];
  name?: string;
}

/** The mail with its signature before it. Header fields are signed relaxed, the body simple. */
export const dkimSigned = ({
  header,
  body,
  template,
  key,
  fields = ['from', 'subject'],
  name = 'DKIM-Signature',
}: Signed): Buffer => {
  const hash = createHash('sha256')
    .update(`${body.replace(/(\r\n)*$/, '')}\r\n`, 'latin1')
    .digest('base64');
  const unsigned = template.replace('@bh@', hash);
  const signed = fields.flatMap(field => new RegExp(`^${field}:(?:.*\r\n)(?:[ \t].*\r\n)*`, 'im').exec(header)?.[0] ?? []);
  const own = relaxed(`${name}: ${unsigned.replace('@b@', '')}\r\n`).slice(0, -2);
  const data = Buffer.from(signed.map(relaxed).join('') + own, 'latin1');
  const signature =
    key.asymmetricKeyType === 'ed25519' ? sign(null, createHash('sha256').update(data).digest(), key) : sign('sha256', data, key);
  return Buffer.from(`${name}: ${unsigned.replace('@b@', signature.toString('base64'))}\r\n${header}\r\n${body}`, 'latin1');
};

export interface Sealed extends Omit<Signed, 'template' | 'fields' | 'name'> {
  /** Values of the two fields, with `@bh@` and `@b@` as above. */
  message: string;
  seal: string;
}

/** The mail with one ARC set before it (RFC 8617). */
export const arcSealed = ({message, seal, ...mail}: Sealed): Buffer => {
  const signed = dkimSigned({...mail, template: message, name: 'ARC-Message-Signature'}).toString('latin1');
  const [own = ''] = /^.*\r\n(?:[ \t].*\r\n)*/.exec(signed) ?? [];
  const results = 'ARC-Authentication-Results: i=1; mx.test; spf=pass\r\n';
  const data = [results, own, `ARC-Seal: ${seal.replace('@b@', '')}\r\n`].map(relaxed).join('').slice(0, -2);
  const signature = sign('sha256', Buffer.from(data, 'latin1'), mail.key).toString('base64');
  return Buffer.from(`ARC-Seal: ${seal.replace('@b@', signature)}\r\n${results}${signed}`, 'latin1');
};

const relaxed = (field: string): string => {
  const at = field.indexOf(':');
  const value = field
    .slice(at + 1)
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    .trim();
  return `${field.slice(0, at).trim().toLowerCase()}:${value}\r\n`;
};

/** `p=` of a key record. */
export const publishedKey = (key: KeyObject, type: 'spki' | 'pkcs1' = 'spki'): string => {
  const publicKey = createPublicKey(key);
  if (key.asymmetricKeyType === 'ed25519')
    return publicKey.export({type: 'spki', format: 'der'}).subarray(-32).toString('base64');
  return publicKey.export({type, format: 'der'} as never).toString('base64');
};
