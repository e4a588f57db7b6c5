import crypto, {generateKeyPairSync} from 'node:crypto';
import test from 'ava';
import {loadMailauth} from '../../../../daemon/mail/readers/mailauth.ts';

const read = (key: Buffer) => crypto.createPublicKey({key, format: 'der', type: 'pkcs1'});

test('a key that is read again is the same, and another one is another', async t => {
  await loadMailauth();
  const [one = Buffer.alloc(0), other = one] = [1, 2].map(() =>
    generateKeyPairSync('rsa', {modulusLength: 1024}).publicKey.export({type: 'pkcs1', format: 'der'}),
  );

  t.is(read(one), read(Buffer.from(one)));
  t.false(read(one).equals(read(other)));
});

test('keys are refused that are larger than any in use, or take long to check', async t => {
  await loadMailauth();
  const exponent = Buffer.from([1, 0, 1]);

  t.notThrows(() => read(keyOf(Buffer.alloc(1024, 0x55), exponent)));
  t.throws(() => read(keyOf(Buffer.alloc(5000, 0x55), exponent)), {message: 'the key is too large'});
  t.throws(() => read(keyOf(Buffer.alloc(384, 0x55), Buffer.alloc(384, 0x51))), {message: /exponent/});
});

/** An RSAPublicKey (RFC 8017 appendix A.1.1). */
const keyOf = (modulus: Buffer, exponent: Buffer): Buffer =>
  tagged(0x30, Buffer.concat([tagged(0x02, modulus), tagged(0x02, exponent)]));

const tagged = (tag: number, content: Buffer): Buffer =>
  Buffer.concat([Buffer.from([tag, 0x82, content.length >> 8, content.length & 0xff]), content]);
