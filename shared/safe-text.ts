// Sanitiser of text for terminals, which obey control sequences: text from a mail, a peer or a file name is hostile until it has passed.

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

const plain = /^[\x20-\x7e]*$/;

/**
 * Cc controls, Cf formats (bidi, zero width, soft hyphen, tags), Cs lone surrogates, Co private use, Cn unassigned,
 * separators of line and paragraph, variation selectors, and characters that draw nothing though they count as letters. After them,
 * for the columns of a table: signs that one terminal draws in one cell and another in two (Unicode made them wide in version 16, or
 * leaves it to the terminal), and skin tones without a person before them.
 */
const unsafe =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|\u034f|[\u17b4\u17b5]|[\u180b-\u180f]|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]|[\u2630-\u2637\u268a-\u268f\u3248-\u324f\u4dc0-\u4dff\u{1d300}-\u{1d356}\u{1d360}-\u{1d378}]|[\u{1f3fb}-\u{1f3ff}]/gu;

/** No writing system has more combining marks on one character: further ones would cover the lines above and below. Burmese has four. */
const tooManyMarks = /(\p{M}{4})\p{M}+/gu;

/**
 * Requests the coloured form of the emoji before it, which is the default anyway, or a skin tone, or a frame around a
 * digit: terminals disagree about the number of cells. Elsewhere it is a hidden character.
 */
const emojiStyle = /(?<=\p{Extended_Pictographic})(?:\ufe0f|[\u{1f3fb}-\u{1f3ff}])+|(?<=[0-9#*])(?:\ufe0f?\u20e3)+/gu;

/** Korean vowels and finals take no cell within a syllable, and one or none elsewhere. */
const jamo =
  /([\u1100-\u115e\ua960-\ua97c][\u1161-\u11a7\ud7b0-\ud7c6][\u11a8-\u11ff\ud7cb-\ud7fb]?)|[\u1161-\u11ff\ud7b0-\ud7fb]/gu;

const safe = (text: string): string => {
  if (plain.test(text)) return text;
  return text
    .replace(emojiStyle, '')
    .replace(unsafe, mark)
    .replace(jamo, (_, syllable: string | undefined) => syllable ?? '\ufffd')
    .replace(tooManyMarks, '$1')
    .replace(/^(?=\p{M})/u, '\u25cc');
};

/** C0 controls have pictures (U+2400…), so that a reader can distinguish an escape from a bell. */
const mark = (char: string): string => {
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
};
