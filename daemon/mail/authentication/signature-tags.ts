// DKIM signatures and their keys, as far as it takes to decide which of them are verified at all (RFC 6376, 8301, 8463).
import {signingDomain} from '../signing-domain.ts';
import {strictTagsOf} from './record-tags.ts';

export interface Signature {
  /** Why it is not verified: it cannot be read in one way only, or what it covers is not enough. */
  refused?: 'permerror' | 'policy';
  /** Canonical; empty when it is none. */
  domain: string;
  selector: string;
  /** The domain of `i=`: that of the signature, or one below it. */
  identity: string;
  /** How many names `h=` has. */
  fields: number;
}

/** Of blanks and folds in a row. The time of mailauth grows with their square; no program writes that many. */
const maxBlanks = 256;

export const hasLongBlanks = (value: string): boolean => value.split(/[^ \t\r\n]+/).some(({length}) => length > maxBlanks);

/** `value` of a DKIM-Signature, with one character per byte. */
export const readSignature = (value: string): Signature => {
  const tags = hasLongBlanks(value) ? undefined : strictTagsOf(Buffer.from(value, 'latin1').toString('utf8'));
  const domain = signingDomain(tags?.get('d') ?? '') ?? '';
  const identity = tags && identityOf(tags, domain);
  const names = compact(tags?.get('h')).toLowerCase().split(':');
  const read = {domain, selector: (tags?.get('s') ?? '').slice(0, 253), identity: identity ?? '', fields: names.length};
  if (!tags || identity === undefined || !areWellFormed(tags)) return {...read, refused: 'permerror'};
  // A signature of the beginning of the body only, to which anybody can add; SHA-1 (RFC 8301); and one that does not cover From.
  const isWeak = tags.has('l') || /^rsa-sha1$/i.test(tags.get('a') ?? '') || !names.includes('from');
  return isWeak ? {...read, refused: 'policy'} : read;
};

/**
 * Whether the record of a key does not allow the signature. What else there is to check of a key, mailauth does: `k=`, `s=`, `h=`, its
 * size, and whether it is revoked.
 */
export const isKeyRefused = (record: string, {identity, domain}: Signature): boolean => {
  const tags = strictTagsOf(record);
  if (!tags || (tags.get('v') ?? 'DKIM1') !== 'DKIM1') return true;
  const flags = compact(tags.get('t')).split(':');
  return flags.includes('s') && identity !== domain;
};

/** RFC 6376 section 3.5. Values may have blanks and folds in them where that allows it. */
const areWellFormed = (tags: ReadonlyMap<string, string>): boolean => {
  const is = (name: string, form: RegExp) => form.test(tags.get(name) ?? '');
  const isIfThere = (name: string, form: RegExp) => !tags.has(name) || is(name, form);
  const [signedAt, endsAt] = [tags.get('t'), tags.get('x')];
  return (
    is('v', /^1$/) &&
    is('a', /^(rsa-sha1|(rsa|ed25519)-sha256)$/i) &&
    is('s', /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/i) &&
    /^[a-z0-9+/]+={0,2}$/i.test(compact(tags.get('b'))) &&
    /^[a-z0-9+/]+={0,2}$/i.test(compact(tags.get('bh'))) &&
    /^[!-'*-~]+$/.test(compact(tags.get('h'))) &&
    isIfThere('c', /^(simple|relaxed)(\/(simple|relaxed))?$/i) &&
    isIfThere('t', /^[0-9]{1,12}$/) &&
    isIfThere('x', /^[0-9]{1,12}$/) &&
    (!tags.has('q') || compact(tags.get('q')).toLowerCase().split(':').includes('dns/txt')) &&
    (signedAt === undefined || endsAt === undefined || Number(endsAt) > Number(signedAt))
  );
};

/** Undefined where `i=` is of another domain. The local part may be anything: programs write addresses into it as they are. */
const identityOf = (tags: ReadonlyMap<string, string>, domain: string): string | undefined => {
  if (domain === '') return undefined;
  const identity = tags.get('i');
  if (identity === undefined) return domain;
  const at = identity.lastIndexOf('@');
  const given = at < 0 ? undefined : signingDomain(compact(identity.slice(at + 1)));
  return given === domain || given?.endsWith(`.${domain}`) ? given : undefined;
};

const compact = (value: string | undefined): string => (value ?? '').replace(/[ \t\r\n]+/g, '');
