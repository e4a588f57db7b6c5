import {domainToUnicode} from 'node:url';
import {canonicalMailDomain} from '../../shared/domain-name.ts';

/**
 * The domain of a signature, canonical; undefined when it is invalid. U-labels count only as IDNA writes them (RFC 8616): mailauth asks for
 * the key of the letters as they are, and another program would ask for the key of what IDNA makes of them.
 */
export const signingDomain = (text: string): string | undefined => {
  const domain = canonicalMailDomain(text);
  if (domain === undefined || /^[\x21-\x7e]+$/.test(text)) return domain;
  return domainToUnicode(domain) === text.normalize('NFC').toLowerCase() ? domain : undefined;
};
