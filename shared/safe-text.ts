// Text from a mail, a peer or a file name is hostile until it has passed through here: a terminal obeys what it is sent.

/**
 * One line of text that cannot move the cursor, change colours, set a title, reorder or hide what is around it.
 * Every control, escape, bidirectional, zero-width, private-use, unassigned or broken character becomes `�` or a visible
 * picture; line breaks and tabs become spaces.
 */
export const safeLine = (text: string): string => safe(text.replace(/\r\n|[\r\n\t\v\f\u0085\u2028\u2029]/g, ' '));

/** The same for text of several lines: line feeds and tabs stay, CRLF becomes a line feed. */
export const safeBlock = (text: string): string =>
  text
    .replace(/\r\n/g, '\n')
    .split('\n')
    .map(line => line.split('\t').map(safe).join('\t'))
    .join('\n');

/**
 * Cc controls, Cf formats (bidi, zero width, soft hyphen, tags), Cs lone surrogates, Co private use, Cn unassigned,
 * separators of line and paragraph, variation selectors, and characters that draw nothing though they count as letters.
 */
const unsafe =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|\u034f|[\u17b4\u17b5]|[\u180b-\u180f]|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu;

/** More marks than this on one character are no writing system: they spill over the lines above and below. */
const tooManyMarks = /(\p{M}{3})\p{M}+/gu;

/** Asks for the coloured form of the emoji before it, of which there is one anyway; elsewhere it is a hidden character. */
const emojiStyle = /(?<=\p{Extended_Pictographic})\ufe0f/gu;

const safe = (text: string): string =>
  text
    .replace(emojiStyle, '')
    .replace(unsafe, mark)
    .replace(tooManyMarks, '$1')
    .replace(/^(?=\p{M})/u, '\u25cc');

/** C0 controls have pictures of their own (U+2400…), so that a reader can tell an escape from a bell. */
const mark = (char: string): string => {
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
};
