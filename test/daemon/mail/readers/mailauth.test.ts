import crypto, {generateKeyPairSync} from 'node:crypto';
import test from 'ava';
import {loadMailauth} from '../../../../daemon/mail/readers/mailauth.ts';

test('keys that are read again are kept, and larger ones than any in use are not', async t => {
  await loadMailauth();
  const {publicKey} = generateKeyPairSync('rsa', {modulusLength: 1024});
  const der = publicKey.export({type: 'pkcs1', format: 'der'});
  const read = (key: Buffer) => crypto.createPublicKey({key, format: 'der', type: 'pkcs1'});
  const large = largeKey(5000);

  t.is(read(der), read(Buffer.from(der)));
  t.not(read(large), read(large));
  t.true(read(large).equals(read(large)));
  t.false(read(large).equals(read(der)));
});

/** An RSAPublicKey (RFC 8017 appendix A.1.1). */
const largeKey = (bytes: number): Buffer => {
  const numbers = Buffer.concat([tagged(0x02, Buffer.alloc(bytes, 0x55)), tagged(0x02, Buffer.from([1, 0, 1]))]);
  return tagged(0x30, numbers);
};

const tagged = (tag: number, content: Buffer): Buffer =>
  Buffer.concat([Buffer.from([tag, 0x82, content.length >> 8, content.length & 0xff]), content]);
