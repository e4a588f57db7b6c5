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

/** Decoding a key takes OpenSSL 3.0 four times as long as checking a signature with it, and few domains send most of the mail. */
const keepPublicKeys = (): void => {
  const kept = new Map<string, crypto.KeyObject>();
  const {createPublicKey} = crypto;
  crypto.createPublicKey = given => {
    const {key, type} = given as crypto.PublicKeyInput;
    if (!Buffer.isBuffer(key)) return createPublicKey(given);
    const id = `${type} ${key.toString('base64')}`;
    const made = kept.get(id) ?? createPublicKey(given);
    if (kept.size === maxKeys) kept.clear();
    kept.set(id, made);
    return made;
  };
};
