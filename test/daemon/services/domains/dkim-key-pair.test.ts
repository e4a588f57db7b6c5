import {createPublicKey} from 'node:crypto';
import test from 'ava';
import {dkimRecord, generateDkimKey} from '../../../../daemon/services/domains/domain-parts.ts';

test('an RSA record holds the public half of the private key', async t => {
  const pair = await generateDkimKey('rsa-2048');

  const derived = createPublicKey(pair.private_key_pem);

  t.is(derived.asymmetricKeyDetails?.modulusLength, 2048);
  t.is(pair.public_key, derived.export({type: 'spki', format: 'der'}).toString('base64'));
  t.is(dkimRecord({algorithm: 'rsa-2048', ...pair}), `v=DKIM1; k=rsa; p=${pair.public_key}`);
  t.regex(pair.private_key_pem, /^-----BEGIN PRIVATE KEY-----\n/);
});

test('an Ed25519 record holds the bare 32 bytes', async t => {
  const pair = await generateDkimKey('ed25519');

  const derived = createPublicKey(pair.private_key_pem).export({format: 'jwk'});

  t.is(derived.x, Buffer.from(pair.public_key, 'base64').toString('base64url'));
  t.is(dkimRecord({algorithm: 'ed25519', ...pair}), `v=DKIM1; k=ed25519; p=${pair.public_key}`);
});

test('no two keys are alike', async t => {
  const [one, other] = [await generateDkimKey('ed25519'), await generateDkimKey('ed25519')];

  t.not(one.private_key_pem, other.private_key_pem);
});
