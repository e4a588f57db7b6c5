/**
 * The tags of a record such as `v=DMARC1; p=none`, by name in lower case. Of a repeated tag the first counts, and a tag with anything but
 * printable ASCII is left out.
 */
export const tagsOf = (text: string): Map<string, string> => {
  const tags = new Map<string, string>();
  for (const part of text.split(';')) {
    const at = part.indexOf('=');
    const [name, value] = [part.slice(0, Math.max(0, at)).trim().toLowerCase(), part.slice(at + 1).trim()];
    if (/^[a-z]+$/.test(name) && /^[ -~]*$/.test(value) && !tags.has(name)) tags.set(name, value);
  }
  return tags;
};

/** Of signatures and keys (RFC 6376 sections 3.5 and 3.6.1, RFC 8617 section 4.1). */
const signatureTags = new Set([...'abcdghiklnpqstvxz', 'bh', 'cv']);

const tagName = /^[ \t\r\n]*([a-z][a-z0-9_]*)[ \t\r\n]*$/i;

/**
 * The tags of a DKIM-Signature, of a seal or of a key (RFC 6376 section 3.2), by name, without the blanks and folds around values.
 * Undefined where programs would not agree on what it says: a tag is repeated, is no `name=value`, or has a known name in capitals.
 */
export const strictTagsOf = (text: string): Map<string, string> | undefined => {
  const tags = new Map<string, string>();
  for (const part of text.split(';')) {
    const whole = trimmed(part);
    if (whole === '') continue;
    const at = part.indexOf('=');
    const name = tagName.exec(part.slice(0, Math.max(0, at)))?.[1];
    if (name === undefined || tags.has(name) || isMisspelt(name)) return undefined;
    tags.set(name, trimmed(part.slice(at + 1)));
  }
  return tags;
};

const isMisspelt = (name: string): boolean => !signatureTags.has(name) && signatureTags.has(name.toLowerCase());

/** A loop: the time of a regular expression for the blanks at the end grows with the square of their number. Unlike `trim` it keeps other spaces. */
const trimmed = (text: string): string => {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  return text.slice(from, to);
};

const isBlank = (code: number): boolean => code === 32 || code === 9 || code === 13 || code === 10;
