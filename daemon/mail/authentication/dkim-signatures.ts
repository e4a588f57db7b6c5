// Verification of the DKIM signatures of a mail (RFC 6376, 8301, 8463), and of its ARC chain (RFC 8617). This file decides what
// is verified: only what can be read in one way, and is within bounds. The rest is removed from the mail before it is verified.
import type {DkimResult} from '../../../shared/mail-authentication.ts';
import type {HeaderField, PlacedField, ReceivedMail} from '../../services/intake/mail.ts';
import {withoutRanges} from '../field-removal.ts';
import type {Lookup} from '../lookup.ts';
import type {SignatureCheck} from '../readers/check-signatures.ts';
import {ReaderLost} from '../readers/reader-pool.ts';
import type {CheckSignatures} from '../readers/readers.ts';
import {strictTagsOf} from './record-tags.ts';
import {hasLongBlanks, isKeyRefused, readSignature, type Signature} from './signature-tags.ts';

/** Of all in a mail: each costs DNS queries and processor time. */
const maxSignatures = 10;
/** Each instance has three fields. */
const maxArcFields = 30;

/**
 * The time of mailauth grows with the square of the lines of a field, with the names in `h=` times the fields, and with the square of From,
 * whatever is signed. Of 341 real mails none has more than 71 fields, 119 lines in a field, or 25 names.
 */
const maxFields = 2000;
const maxFieldLines = 1000;
const maxNames = 2000;
const maxParsedChars = 8192;
const maxArcChars = 16 * 1024;

export const verifySignatures = async (
  {headers: fields, strayLines, content}: Pick<ReceivedMail, 'headers' | 'strayLines' | 'content'>,
  lookup: Lookup,
  check: CheckSignatures,
): Promise<SignatureCheck> => {
  const found = fields.filter(isSignature).map(field => ({field, signature: readSignature(field.value)}));
  const arcFields = fields.filter(isArc);
  if (found.length === 0 && arcFields.length === 0) return {dkim: [], arc: {result: 'none'}};
  if (!isWithinBounds(fields, strayLines)) {
    const dkim = found.map(({signature}) => ({signature: {...signature, refused: 'permerror' as const}}));
    return {dkim: resultsOf(dkim), arc: {result: arcFields.length > 0 ? 'fail' : 'none'}};
  }

  const wanted = withinNumbers(found);
  const hasChain = arcFields.length > 0 && isChainWithinBounds(arcFields);
  const chainKeys = hasChain ? chainKeyNames(arcFields) : [];
  const [allowed] = await Promise.all([
    withKeys(wanted.verified, lookup),
    Promise.allSettled(chainKeys.map(async name => lookup(name, 'TXT'))),
  ]);
  const refused = [...wanted.refused, ...allowed.refused];
  const arcBefore = {result: arcFields.length > 0 ? ('fail' as const) : ('none' as const)};
  if (allowed.verified.length === 0 && !hasChain) return {dkim: resultsOf(refused), arc: arcBefore};

  const verified = new Set([...allowed.verified.map(({field}) => field), ...(hasChain ? arcFields : [])]);
  const leftOut = fields.filter(field => (isSignature(field) || isArc(field)) && !verified.has(field));
  const keys = [...new Set([...allowed.verified.map(({signature}) => keyName(signature)), ...chainKeys])];
  const checked = await check(withoutRanges(content, leftOut), lookupOf(keys, lookup), keys).catch(unlessLost);
  const {dkim, arc} =
    checked && answers(allowed.verified, checked) ? checked : {dkim: resultsOf(allowed.verified), arc: {result: 'fail' as const}};
  return {dkim: [...dkim, ...resultsOf(refused)].slice(0, maxSignatures), arc: hasChain ? arc : arcBefore};
};

/** Undefined for a mail that no reader can read. */
const unlessLost = (error: unknown): undefined => {
  if (!(error instanceof ReaderLost)) throw error;
};

/** Whether a result is about the signatures that were to be verified. It comes from a process that a mail may have taken over. */
const answers = (asked: readonly Found[], {dkim}: SignatureCheck): boolean =>
  dkim.length <= asked.length &&
  dkim.every(({domain, selector}) => asked.some(({signature}) => signature.domain === domain && signature.selector === selector));

const isSignature = ({name}: HeaderField): boolean => name.toLowerCase() === 'dkim-signature';
const isArc = ({name}: HeaderField): boolean => /^arc-(seal|message-signature|authentication-results)$/i.test(name);

/**
 * Also whether mailauth sees the fields that were read here. It takes a line that is part of no field for the end of the field above, or,
 * when it begins with a colon, for the value of a field whose name is the line above; and its lines may end in LF.
 */
const isWithinBounds = (fields: readonly PlacedField[], strayLines: readonly string[]): boolean => {
  if (fields.length + strayLines.length > maxFields) return false;
  if (strayLines.join('').length > maxParsedChars || strayLines.some(line => /^[ \t]*:/.test(line) || hasBareLf(line)))
    return false;
  if (fields.some(({value}) => value.split('\r\n').length > maxFieldLines || hasBareLf(value))) return false;
  if ([...strayLines, ...fields.map(({value}) => value)].some(text => text.includes(manyCrs))) return false;
  const charsOf = (wanted: string) =>
    fields.reduce((sum, {name, value}) => sum + (name.toLowerCase() === wanted ? value.length : 0), 0);
  return charsOf('from') <= maxParsedChars && charsOf('content-type') <= maxParsedChars;
};

/** The time of mailauth grows with the square of their number. */
const manyCrs = '\r'.repeat(100);

const hasBareLf = (text: string): boolean => /(?<!\r)\n/.test(text);

const isChainWithinBounds = (fields: readonly PlacedField[]): boolean => {
  let names = 0;
  for (const {name, value} of fields) {
    if (value.length > maxArcChars || hasLongBlanks(value)) return false;
    if (/results$/i.test(name)) continue;
    const tags = strictTagsOf(value);
    // A signature of the beginning of the body says nothing about the rest.
    if (!tags || tags.has('l')) return false;
    names += (tags.get('h') ?? '').split(':').length;
  }
  return fields.length <= maxArcFields && names <= maxNames;
};

/** Of its seals, and of its message signatures. */
const chainKeyNames = (fields: readonly PlacedField[]): string[] =>
  fields
    .filter(({name}) => !/results$/i.test(name))
    .flatMap(({value}) => {
      const signature = readSignature(value);
      return signature.domain === '' ? [] : keyName(signature);
    });

/** All keys have been looked up before: a mail must not wait for DNS in a reader, where its bytes are in memory. */
const lookupOf =
  (keys: readonly string[], lookup: Lookup): Lookup =>
  async (name, type) => {
    const asked = name.toLowerCase().replace(/\.$/, '');
    const known = keys.find(key => key.toLowerCase() === asked);
    if (known === undefined) throw Object.assign(new Error(`${type} ${name}`), {code: 'ENOTFOUND'});
    return lookup(known, type);
  };

interface Found {
  field: PlacedField;
  signature: Signature;
}

interface Sorted {
  verified: Found[];
  refused: Found[];
}

/** Ten at most are verified; those that are refused do not count. The others are left out silently. */
const withinNumbers = (found: readonly Found[]): Sorted => {
  let names = 0;
  const sorted: Sorted = {verified: [], refused: []};
  for (const one of found) {
    const {refused, fields} = one.signature;
    if (!refused && sorted.verified.length === maxSignatures) continue;
    if (!refused) names += fields;
    if (refused) sorted.refused.push(one);
    else if (names > maxNames) sorted.refused.push({...one, signature: {...one.signature, refused: 'permerror'}});
    else sorted.verified.push(one);
  }
  return sorted;
};

/** All keys are looked up at once: a key without an answer must not use up the time for the others. */
const withKeys = async (found: readonly Found[], lookup: Lookup): Promise<Sorted> => {
  const keys = await Promise.allSettled(found.map(async ({signature}) => lookup(keyName(signature), 'TXT')));
  const isRefused = ({signature}: Found, n: number): boolean => {
    const key = keys[n];
    // Without an answer the reader reports it.
    return key?.status === 'fulfilled' && isKeyRefused([key.value[0] ?? []].flat().join(''), signature);
  };
  return {
    verified: found.filter((one, n) => !isRefused(one, n)),
    refused: found.filter(isRefused).map(one => ({...one, signature: {...one.signature, refused: 'permerror'}})),
  };
};

const keyName = ({selector, domain}: Signature): string => `${selector}._domainkey.${domain}`;

const resultsOf = (refused: readonly Pick<Found, 'signature'>[]): SignatureCheck['dkim'] =>
  refused.slice(0, maxSignatures).map(({signature: {refused: result = 'permerror', domain, selector}}) => ({
    result: result satisfies DkimResult,
    domain,
    selector,
  }));
