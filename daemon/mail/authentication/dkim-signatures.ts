// Verification of the DKIM signatures of a mail (RFC 6376, 8301, 8463), and of its ARC chain (RFC 8617).
import {canonicalDomain} from '../../../shared/domain-name.ts';
import type {PlacedField} from '../../services/intake/header-block.ts';
import type {HeaderField, MailContent} from '../../services/intake/mail.ts';
import {withoutFields} from '../field-removal.ts';
import type {Lookup} from '../lookup.ts';
import type {CheckSignatures, SignatureCheck} from '../readers/check-signatures.ts';

/** Of all that a mail has: each costs questions to DNS, and time of the processor. */
const maxSignatures = 10;
/** Each instance has three fields. */
const maxArcFields = 30;

export const verifySignatures = async (
  {headers, content}: {headers: readonly HeaderField[]; content: MailContent},
  lookup: Lookup,
  check: CheckSignatures,
): Promise<SignatureCheck> => {
  const signatures = headers.filter(isSignature).map(signatureOf);
  const refused = signatures
    .filter(({isRefused}) => isRefused)
    .map(({domain, selector}) => ({result: 'policy' as const, domain, selector}));
  const arcFields = headers.filter(isArc).length;
  const hasArc = arcFields > 0 && arcFields <= maxArcFields;
  const wanted = signatures.filter(({isRefused}) => !isRefused);
  const arcBefore = {result: arcFields > maxArcFields ? ('fail' as const) : ('none' as const)};
  if (wanted.length === 0 && !hasArc) return {dkim: refused.slice(0, maxSignatures), arc: arcBefore};

  // One after the other is verified. A key that nobody answers for must not use up the time for the keys of the others.
  const keys = wanted.slice(0, maxSignatures);
  await Promise.allSettled(keys.map(async ({selector, domain}) => lookup(`${selector}._domainkey.${domain}`, 'TXT')));
  // Most mail has nothing to be left out.
  const isWhole = refused.length === 0 && wanted.length <= maxSignatures && (hasArc || arcFields === 0);
  const verified = isWhole ? content : await withoutFields(content, leftOut(hasArc));
  const {dkim, arc} = await check(verified, lookup);
  return {dkim: [...dkim, ...refused].slice(0, maxSignatures), arc: hasArc ? arc : arcBefore};
};

const isSignature = ({name}: HeaderField): boolean => name.toLowerCase() === 'dkim-signature';
const isArc = ({name}: HeaderField): boolean => /^arc-(seal|message-signature|authentication-results)$/i.test(name);

/** Says of each field whether it is left out of what is verified. */
const leftOut = (hasArc: boolean): ((field: PlacedField) => boolean) => {
  let left = maxSignatures;
  return field => {
    if (isArc(field)) return !hasArc;
    if (!isSignature(field)) return false;
    if (left === 0 || signatureOf(field).isRefused) return true;
    left -= 1;
    return false;
  };
};

/**
 * Refused, whether or not it verifies: a signature that covers only the beginning of the body, to which anybody can add; one with
 * SHA-1 (RFC 8301 section 3.1); and one that does not cover From (RFC 6376 section 5.4).
 */
const signatureOf = ({value}: HeaderField): {isRefused: boolean; domain: string; selector: string} => {
  const tags = new Map<string, string>();
  for (const part of value.replace(/\s+/g, '').split(';')) {
    const at = part.indexOf('=');
    if (at > 0 && !tags.has(part.slice(0, at))) tags.set(part.slice(0, at), part.slice(at + 1));
  }
  const fields = (tags.get('h') ?? '').toLowerCase().split(':');
  return {
    isRefused: tags.has('l') || /sha1$/i.test(tags.get('a') ?? '') || !fields.includes('from'),
    domain: canonicalDomain(tags.get('d') ?? '') ?? '',
    selector: (tags.get('s') ?? '').slice(0, 253),
  };
};
