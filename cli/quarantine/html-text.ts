const maxCharacters = 64 * 1024;

const entities: Record<string, string> = {amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' '};

/**
 * The visible text of an HTML mail, roughly. Links lose their address, and nothing is fetched or run;
 * the result is still hostile text.
 */
export const htmlText = (html: string): string =>
  html
    .slice(0, maxCharacters)
    .replace(/<(style|script|title|head)\b[^<>]*>[\s\S]*?(<\/\1\s*>|$)/gi, ' ')
    .replace(/<!--[\s\S]*?(-->|$)/g, ' ')
    .replace(/<(br|\/p|\/div|\/tr|\/li|\/h[1-6])\b[^<>]*>/gi, '\n')
    .replace(/<[^<>]*>/g, ' ')
    .replace(
      /&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]+);/gi,
      (entity, name: string) => entities[name.toLowerCase()] ?? numbered(name) ?? entity,
    )
    .replace(/[ \t]+/g, ' ')
    .replace(/ ?\n ?/g, '\n');

const numbered = (name: string): string | undefined => {
  if (!name.startsWith('#')) return undefined;
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
};
