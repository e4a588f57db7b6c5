import {domainToASCII} from 'node:url';

/**
 * Names that IDNA would change in case only: no A-label, which would need a check, and no last label that could be
 * a number. Most domains match, and are looked up several times for each mail.
 */
const plainName = /^(?!.*xn--)[a-z0-9.-]+\.[a-z][a-z0-9-]*$/i;

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
  if (text.length === 0 || text.length > 1000 || /[\s/\\@:?#%[\]<>\x00-\x1f\x7f]/.test(text)) return undefined;

  const given = text.endsWith('.') ? text.slice(0, -1) : text;
  const name = plainName.test(given) ? given.toLowerCase() : domainToASCII(given);
  if (name.length === 0 || name.length > 253) return undefined;
  const labels = name.split('.');
  if (labels.length < 2 || !labels.every(part => label.test(part))) return undefined;
  return /^\d+$/.test(labels.at(-1) ?? '') ? undefined : name;
};
