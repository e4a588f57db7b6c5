// Any character of Unicode, as an arbitrary. fast-check's own unit `binary` has the same characters, but takes most of a second to
// create.
import fc from 'fast-check';

const firstSurrogate = 0xd800;
const surrogates = 0x800;

const numberOf = (text: unknown): number => {
  const [code = -1, ...more] = typeof text === 'string' ? Array.from(text, character => character.codePointAt(0) ?? -1) : [];
  const isSurrogate = code >= firstSurrogate && code < firstSurrogate + surrogates;
  if (code < 0 || isSurrogate || more.length > 0) throw new Error('not one character');
  return code < firstSurrogate ? code : code - surrogates;
};

/** It has both directions because fast-check mixes in names such as `__proto__` only where it can take them apart. */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({max: 0x10ffff - surrogates})
  .map(n => String.fromCodePoint(n < firstSurrogate ? n : n + surrogates), numberOf);
