import {domainToASCII, domainToUnicode} from 'node:url';

/**
 * Valid names that IDNA would change in case only: no A-label, which would need a check, and no last label that could be
 * a number. Most domains match, and are looked up some twenty times for each mail.
 */
const plainName = /^(?!.*xn--)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

const hostLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Domains with `_` send and receive mail, although no host may have such a name. */
export const mailLabel = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * The canonical form of a domain of the cluster: lower case, IDNA A-labels, no trailing dot.
 * Undefined when it is not a valid host name with at least one dot (RFC 1123 section 2.1, RFC 5890).
 */
export const canonicalDomain = (text: string): string | undefined => canonicalName(text, hostLabel);

/** The same for the domain of any mail address, in which `_` is valid too. */
export const canonicalMailDomain = (text: string): string | undefined => canonicalName(text, mailLabel);

const canonicalName = (text: string, label: RegExp): string | undefined => {
  if (text.length > 1000) return undefined;

  const given = text.endsWith('.') ? text.slice(0, -1) : text;
  if (plainName.test(given)) return given.length > 253 ? undefined : given.toLowerCase();
  if (/[\s/\\@:?#%[\]<>\x00-\x1f\x7f]/.test(given)) return undefined;
  const name = domainToASCII(given);
  if (name.length === 0 || name.length > 253) return undefined;
  const labels = name.split('.');
  if (labels.length < 2 || !labels.every(part => label.test(part))) return undefined;
  return /^\d+$/.test(labels.at(-1) ?? '') ? undefined : name;
};

/**
 * What an editor or a copy has put around the name of a domain, or hidden in it: IDNA takes typographic quotes as letters, and drops
 * characters that nobody sees. `what` was typed: a name, or an address that contains it.
 */
export const strayCharacterFault = (text: string, what = 'name'): string | undefined => {
  const [quote] = /["'`\u00ab\u00b4\u00bb\u2018-\u201f\u2039\u203a\u300c-\u300f\uff02\uff07]/.exec(text) ?? [];
  if (quote !== undefined) return `has the quotation mark ${quote} (${codePoint(quote)}); give the ${what} without it`;
  const [blank] = /\s/.exec(text) ?? [];
  if (blank !== undefined) return `has a blank (${codePoint(blank)}); give the ${what} without it`;
  const hidden = [...text].find((char, at, all) => isHidden(char) && !isMeant(char, [all[at - 1], all[at + 1]]));
  return hidden === undefined ? undefined : `has an invisible character (${codePoint(hidden)}); give the ${what} without it`;
};

/** Why a text is not the name of a domain that a person would make; undefined when it is one. Stricter than `canonicalDomain`. */
export const domainNameFault = (text: string): string | undefined => {
  const stray = strayCharacterFault(text);
  if (stray !== undefined) return stray;
  if (canonicalDomain(text) !== undefined) return undefined;
  if (/\.\./.test(text)) return 'has two dots with nothing between them';
  if (canonicalMailDomain(text) !== undefined) return 'has the character _, which no host name has';
  return 'must be a host name with at least one dot, such as example.com';
};

/** The characters that an A-label stands for, `bücher.example`; undefined for a name without A-labels. */
export const unicodeDomain = (name: string): string | undefined => {
  const text = domainToUnicode(name);
  return text === name || text === '' ? undefined : text;
};

const isHidden = (char: string): boolean => /[\p{Cc}\p{Cf}\u115f\u1160\u3164\uffa0]|\u034f|[\ufe00-\ufe0f]/u.test(char);

const isMeant = (char: string, around: readonly [string | undefined, string | undefined]): boolean =>
  isJoiner(char, around) || isSelector(char, around);

/** Within words of some languages these have a meaning, and IDNA keeps them (RFC 5892 appendix A). */
const isJoiner = (char: string, around: readonly (string | undefined)[]): boolean =>
  /[\u200c\u200d]/.test(char) && around.every(other => other !== undefined && /[\p{L}\p{M}]/u.test(other) && other > '\u007f');

/** Chooses the look of the character before it, and keyboards write it after many emoji. IDNA drops it. */
const isSelector = (char: string, [before = '', after = '']: readonly [string | undefined, string | undefined]): boolean =>
  /[\ufe00-\ufe0f]/.test(char) && (/^[^\x00-\x7f]$/u.test(before) || after === '\u20e3');

const codePoint = (char: string): string => `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
