// Patterns of mail filters. They are not regular expressions: a customer writes the pattern, a stranger the text, and
// together these must not block the event loop.

/**
 * Text as patterns compare it: the code points of its characters, without case, and composed, so that `É` and `e` + accent
 * are equal.
 */
export type GlobText = Uint32Array;

type Glob = (text: GlobText) => boolean;

export const globText = (text: string): GlobText => codePoints(fold(text));

/** False only for a pattern that ends in a lone backslash. */
export const isGlob = (pattern: string): boolean => segmentsOf(pattern) !== undefined;

interface GlobCost {
  /** The number of `*`. */
  stars: number;
  /** Characters of the longest part between two `*` that has a `?`: each 32 of them cost a step for each character of the text. */
  longestWithAnyOne: number;
}

export const globCost = (pattern: string): GlobCost => {
  const segments = segmentsOf(pattern) ?? [];
  const between = segments.slice(1, -1).filter(segment => segment.includes(anyOne));
  return {stars: Math.max(0, segments.length - 1), longestWithAnyOne: Math.max(0, ...between.map(({length}) => length))};
};

/**
 * Whether the whole of a text matches, regardless of case. `*` is any text, `?` one character, `\` takes the next
 * literally. An invalid pattern matches nothing. Takes about two steps for each character of the text, and more only as
 * `globCost` says. Compiled at its first use.
 */
export const compileGlob = (pattern: string): Glob => {
  let ready: Glob | undefined;
  return text => {
    ready ??= prepare(pattern);
    return ready(text);
  };
};

const prepare = (pattern: string): Glob => {
  const segments = segmentsOf(fold(pattern));
  if (!segments) return () => false;

  const [head = [], ...rest] = segments;
  const tail = rest.pop();
  if (!tail) return text => text.length === head.length && isAt(text, 0, head);
  const between = rest.filter(segment => segment.length > 0).map(createFinder);
  return text => {
    const end = text.length - tail.length;
    if (end < head.length || !isAt(text, 0, head) || !isAt(text, end, tail)) return false;
    // The leftmost match of each segment leaves the most text to the segments after it.
    let at = head.length;
    for (const findEnd of between) {
      at = findEnd(text, at, end);
      if (at < 0) return false;
    }
    return true;
  };
};

/** Code points of the text between two stars. */
type Segment = readonly number[];

const anyOne = -1;

/** Undefined when the pattern ends in a lone backslash. */
const segmentsOf = (pattern: string): Segment[] | undefined => {
  const segments: number[][] = [[]];
  let isLiteral = false;
  for (const char of pattern) {
    if (!isLiteral && char === '*') segments.push([]);
    else if (isLiteral || char !== '\\') segments.at(-1)?.push(!isLiteral && char === '?' ? anyOne : (char.codePointAt(0) ?? 0));
    isLiteral = !isLiteral && char === '\\';
  }
  return isLiteral ? undefined : segments;
};

const isAt = (text: GlobText, start: number, segment: Segment): boolean =>
  segment.every((char, at) => char === anyOne || char === text[start + at]);

/** Where the first occurrence within `from` and `to` ends, or -1. */
type FindEnd = (text: GlobText, from: number, to: number) => number;

const createFinder = (segment: Segment): FindEnd =>
  segment.includes(anyOne) ? createWildFinder(segment) : createLiteralFinder(segment);

/** Never goes back in the text (D. Knuth, J. Morris, V. Pratt: Fast pattern matching in strings, 1977). */
const createLiteralFinder = (segment: Segment): FindEnd => {
  // For each matched length: the matched length that remains when the next character differs.
  const shorter = [0];
  for (let at = 1, length = 0; at < segment.length; at += 1) {
    while (length > 0 && segment[at] !== segment[length]) length = shorter[length - 1] ?? 0;
    if (segment[at] === segment[length]) length += 1;
    shorter.push(length);
  }

  return (text, from, to) => {
    let length = 0;
    for (let at = from; at < to; at += 1) {
      const char = text[at];
      while (length > 0 && char !== segment[length]) length = shorter[length - 1] ?? 0;
      if (char === segment[length]) length += 1;
      if (length === segment.length) return at + 1;
    }
    return -1;
  };
};

/**
 * Bit n of the state says that the last n + 1 characters are the first n + 1 of the segment, so that all places are tried
 * at once (R. Baeza-Yates, G. Gonnet: A new approach to text searching, 1992).
 */
const createWildFinder = (segment: Segment): FindEnd => {
  const words = Math.ceil(segment.length / 32);
  const lastWord = words - 1;
  const lastBit = 1 << ((segment.length - 1) & 31);
  let table: MaskTable | undefined;

  return (text, from, to) => {
    table ??= maskTable(segment, words);
    const {masks, rows, asciiRows} = table;
    const state = new Uint32Array(words);
    for (let at = from; at < to; at += 1) {
      const char = text[at] ?? 0;
      const row = char < 128 ? (asciiRows[char] ?? 0) : (rows.get(char) ?? 0);
      let carry = 1;
      for (let word = 0; word < words; word += 1) {
        const before = state[word] ?? 0;
        state[word] = ((before << 1) | carry) & (masks[row + word] ?? 0);
        carry = before >>> 31;
      }
      if (((state[lastWord] ?? 0) & lastBit) !== 0) return at + 1;
    }
    return -1;
  };
};

/** Positions of a segment where a character matches, one row of words for each; the first row is for all characters that it does not contain. */
interface MaskTable {
  masks: Uint32Array;
  rows: ReadonlyMap<number, number>;
  /** For the most common characters: a Map lookup would take longer than all the rest. */
  asciiRows: Uint16Array;
}

const maskTable = (segment: Segment, words: number): MaskTable => {
  const named = [...new Set(segment)].filter(char => char !== anyOne);
  const rows = new Map(named.map((char, at) => [char, (at + 1) * words]));
  const masks = new Uint32Array((rows.size + 1) * words);
  for (const [at, char] of segment.entries())
    for (const row of char === anyOne ? [0, ...rows.values()] : [rows.get(char) ?? 0]) {
      const word = row + (at >> 5);
      masks[word] = (masks[word] ?? 0) | (1 << (at & 31));
    }
  return {masks, rows, asciiRows: Uint16Array.from({length: 128}, (_, char) => rows.get(char) ?? 0)};
};

const codePoints = (text: string): Uint32Array => {
  const points = new Uint32Array(text.length);
  let length = 0;
  for (const char of text) {
    points[length] = char.codePointAt(0) ?? 0;
    length += 1;
  }
  return points.subarray(0, length);
};

/** The lower case of a capital sigma depends on the next character. */
const fold = (text: string): string => text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ');
