// The parts of mailauth that are used, each loaded before it is needed: it takes longer than most mails.
import crypto from 'node:crypto';

const load = async () => {
  keepPublicKeys();
  const [{spf}, {dkimVerify}, {arc}] = await Promise.all([
    import('mailauth/lib/spf/index.js'),
    import('mailauth/lib/dkim/verify.js'),
    import('mailauth/lib/arc/index.js'),
  ]);
  return {spf, dkimVerify, arc};
};

let loaded: ReturnType<typeof load> | undefined;

export const loadMailauth = async (): ReturnType<typeof load> => {
  // import() would find the modules again for each mail.
  loaded ??= load();
  return loaded;
};

export const loadSigner = async () => import('mailauth/lib/dkim/sign.js');

const maxKeys = 500;
/** An RSA key of 8,192 bits has 1,062. A record may hold one of 48,000; five hundred of those exceed the memory of a reader. */
const maxKeyBytes = 2048;
/** Nearly all keys have 65,537. With one as long as a modulus of 3,072 bits, a signature takes a hundred times as long. */
const maxExponent = 2n ** 32n;

/** Decoding a key takes OpenSSL 3.0 four times as long as checking a signature with it, and few domains send most of the mail. */
const keepPublicKeys = (): void => {
  const kept = new Map<string, crypto.KeyObject>();
  const {createPublicKey} = crypto;
  crypto.createPublicKey = given => {
    const {key, type} = given as crypto.PublicKeyInput;
    if (!Buffer.isBuffer(key)) return createPublicKey(given);
    if (key.length > maxKeyBytes) throw new Error('the key is too large');
    const id = `${type} ${key.toString('base64')}`;
    const known = kept.get(id);
    if (known) return known;
    const made = createPublicKey(given);
    if ((made.asymmetricKeyDetails?.publicExponent ?? 0n) > maxExponent) throw new Error('the exponent of the key is too large');
    if (kept.size === maxKeys) kept.clear();
    kept.set(id, made);
    return made;
  };
};
