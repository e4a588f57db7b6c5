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
