// Patterns of mail filters. No regular expressions: a pattern comes from a customer, the text from a stranger, and
// together they must not be able to stop the event loop.

type Token = {kind: 'any'} | {kind: 'one'} | {kind: 'char'; char: string};

/** A text as patterns see it: its characters, upper and lower case alike, and composed, so that `É` and `e` + accent are equal. */
export type GlobText = readonly string[];

export type Glob = (text: GlobText) => boolean;

export const globText = (text: string): GlobText => [...fold(text)];

/** False only for a pattern that ends in a lone backslash. */
export const isGlob = (pattern: string): boolean => tokens(pattern) !== undefined;

/**
 * Whether the whole of a text matches, regardless of case. `*` is any text, `?` one character, `\` takes the next
 * literally. What is no pattern matches nothing. Takes a step for each character of the text and each 32 of the pattern.
 * Made ready when it is first asked.
 */
export const compileGlob = (pattern: string): Glob => {
  let ready: Glob | undefined;
  return text => {
    ready ??= prepare(pattern);
    return ready(text);
  };
};

const prepare = (pattern: string): Glob => {
  const wanted = tokens(fold(pattern));
  if (!wanted) return () => false;

  const [head = [], ...rest] = segmentsOf(wanted);
  const tail = rest.pop();
  if (!tail) return text => text.length === head.length && isAt(text, 0, head);
  const between = rest.filter(segment => segment.length > 0).map(createFinder);
  return text => {
    const end = text.length - tail.length;
    if (end < head.length || !isAt(text, 0, head) || !isAt(text, end, tail)) return false;
    // The leftmost place of each leaves the most room to those after it.
    let at = head.length;
    for (const findEnd of between) {
      at = findEnd(text, at, end);
      if (at < 0) return false;
    }
    return true;
  };
};

/** What stands between the stars; undefined is any one character. */
type Segment = readonly (string | undefined)[];

const segmentsOf = (wanted: readonly Token[]): Segment[] => {
  const segments: (string | undefined)[][] = [[]];
  for (const token of wanted) {
    if (token.kind === 'any') segments.push([]);
    else segments.at(-1)?.push(token.kind === 'char' ? token.char : undefined);
  }
  return segments;
};

const isAt = (text: GlobText, start: number, segment: Segment): boolean =>
  segment.every((char, at) => char === undefined || char === text[start + at]);

/** Where the first occurrence within `from` and `to` ends, or -1. */
type FindEnd = (text: GlobText, from: number, to: number) => number;

/**
 * Bit n of the state says that the last n + 1 characters are the first n + 1 of the segment, so that all places are tried
 * at once (R. Baeza-Yates, G. Gonnet: A new approach to text searching, 1992).
 */
const createFinder = (segment: Segment): FindEnd => {
  const words = Math.ceil(segment.length / 32);
  const ofOthers = new Uint32Array(words);
  for (const [at, char] of segment.entries()) if (char === undefined) setBit(ofOthers, at);
  const masks = new Map<string, Uint32Array>();
  for (const [at, char] of segment.entries()) {
    if (char === undefined) continue;
    const mask = masks.get(char) ?? ofOthers.slice();
    masks.set(char, setBit(mask, at));
  }
  const lastWord = words - 1;
  const lastBit = 1 << ((segment.length - 1) & 31);

  return (text, from, to) => {
    const state = new Uint32Array(words);
    for (let at = from; at < to; at += 1) {
      const mask = masks.get(text[at] ?? '') ?? ofOthers;
      let carry = 1;
      for (let word = 0; word < words; word += 1) {
        const before = state[word] ?? 0;
        state[word] = ((before << 1) | carry) & (mask[word] ?? 0);
        carry = before >>> 31;
      }
      if (((state[lastWord] ?? 0) & lastBit) !== 0) return at + 1;
    }
    return -1;
  };
};

const setBit = (mask: Uint32Array, at: number): Uint32Array => {
  mask[at >> 5] = (mask[at >> 5] ?? 0) | (1 << (at & 31));
  return mask;
};

/** Which sigma a capital one becomes depends on what follows it. */
const fold = (text: string): string => text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ');

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
