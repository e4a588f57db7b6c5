import {randomBytes} from 'node:crypto';
import test from 'ava';
import fc from 'fast-check';
import {createAuthority} from '../../../daemon/cluster/certificates.ts';
import {
  createClusterAuthority,
  decodeJoinToken,
  encodeJoinToken,
  joinTokenIdIn,
  joinUri,
} from '../../../daemon/cluster/join-token.ts';
import {Fault} from '../../../shared/fault.ts';

const sample = {
  caFingerprint: randomBytes(32),
  seed: randomBytes(32),
  certificate: randomBytes(330),
  address: 'mx1.example.com:8444',
};

const problemWith = (token: string): string => {
  try {
    decodeJoinToken(token);
    return 'none';
  } catch (error) {
    return error instanceof Fault && error.code === 'invalid_parameter' ? error.detail : String(error);
  }
};

test('what goes into a token comes out again, whatever it is', t => {
  const bytes = (min: number, max = min) => fc.uint8Array({minLength: min, maxLength: max}).map(array => Buffer.from(array));
  const token = fc.record({
    caFingerprint: bytes(32),
    seed: bytes(32),
    certificate: bytes(0, 2000),
    address: fc.constantFrom('a:1', 'mx1.example.com:8444', '[2001:db8::1]:65535', '127.0.0.1:1'),
  });

  fc.assert(fc.property(token, made => t.deepEqual(decodeJoinToken(encodeJoinToken(made)), made)));
});

test('a token broken over lines or with spaces around it is still good', t => {
  const token = encodeJoinToken(sample);

  t.deepEqual(decodeJoinToken(`  ${token.slice(0, 80)}\r\n${token.slice(80)}\n`), sample);
});

test('a text without a token is told from an empty one', t => {
  t.regex(problemWith('mfk_abc'), /^this is not a join token: one begins with/);
  t.regex(problemWith(' \n'), /^this is not a join token: it is empty; mfctl cluster token makes one/);
});

test('a token with any character changed, lost or added is told to be damaged', t => {
  const token = encodeJoinToken(sample);
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const at = fc.integer({min: 5, max: token.length - 1});

  fc.assert(
    fc.property(at, fc.constantFrom(...alphabet, '!', '='), fc.constantFrom(0, 1), (n, character, cut) => {
      const changed = token.slice(0, n) + character + token.slice(n + cut);
      if (changed !== token) t.regex(problemWith(changed), /damaged/);
    }),
  );
  for (let length = 5; length < token.length; length += 1) t.regex(problemWith(token.slice(0, length)), /damaged/);
});

test('what is no token, or one of another version, is told to be that', t => {
  for (const text of ['', 'mfk_abc', 'hello', '-', 'MFJ1_AAAA']) t.regex(problemWith(text), /not a join token/);
});

test('a token the authority makes is short enough for one line, and says nothing of the CA key', async t => {
  const pair = await createAuthority(Date.now());
  const authority = createClusterAuthority(pair, Date.now);

  const text = await authority.issueToken({id: 'abc', endMs: Date.now() + 1000, address: 'mx1.example.com:8444'});

  const {caFingerprint, address} = decodeJoinToken(text);
  t.is(`sha256:${caFingerprint.toString('hex')}`, authority.fingerprint);
  t.is(address, 'mx1.example.com:8444');
  t.true(text.length < 1000, String(text.length));
});

test('a token id is read from its own URI only', t => {
  t.is(joinTokenIdIn(`URI:${joinUri('abc')}`), 'abc');
  for (const other of [undefined, '', 'DNS:urn:mfd:join:abc', 'URI:urn:mfd:node:abc', 'DNS:"a, URI:urn:mfd:join:abc"'])
    t.is(joinTokenIdIn(other), undefined, other);
});
