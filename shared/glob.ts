// Patterns of mail filters. No regular expressions: a pattern comes from a customer, the text from a stranger, and
// together they must not be able to stop the event loop.

type Token = {kind: 'any'} | {kind: 'one'} | {kind: 'char'; char: string};

/** False only for a pattern that ends in a lone backslash. */
export const isGlob = (pattern: string): boolean => tokens(pattern) !== undefined;

/**
 * Whether the whole of `text` matches, regardless of case. `*` is any text, `?` one character, `\` takes the next
 * literally. Time is at most the product of the lengths.
 */
export const matchesGlob = (pattern: string, text: string): boolean => {
  const wanted = tokens(fold(pattern));
  if (!wanted) return false;

  const chars = [...fold(text)];
  let at = 0;
  let star: {token: number; char: number} | undefined;
  for (let char = 0; char < chars.length; ) {
    const token = wanted[at];
    if (token?.kind === 'any') {
      star = {token: at, char};
      at += 1;
    } else if (token && (token.kind === 'one' || token.char === chars[char])) {
      at += 1;
      char += 1;
    } else if (star) {
      star.char += 1;
      char = star.char;
      at = star.token + 1;
    } else return false;
  }
  return wanted.slice(at).every(token => token.kind === 'any');
};

/** Upper and lower case alike, and composed: `É` and `e` + accent compare equal. */
const fold = (text: string): string => text.normalize('NFC').toLowerCase();

const tokens = (pattern: string): Token[] | undefined => {
  const list: Token[] = [];
  const chars = [...pattern];
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? '';
    if (char === '*') list.push({kind: 'any'});
    else if (char === '?') list.push({kind: 'one'});
    else if (char !== '\\') list.push({kind: 'char', char});
    else {
      at += 1;
      const escaped = chars[at];
      if (escaped === undefined) return undefined;
      list.push({kind: 'char', char: escaped});
    }
  }
  return list;
};
