// Pasted text, and what a field takes of it.
import {stripVTControlCharacters} from 'node:util';
import {countText, plural} from '../../output/cell-text.ts';
import {typedCharacters} from './keys.ts';
import {inserted, type Line} from './line-editor.ts';

export interface Paste {
  /** Unsanitised; its beginning, when it is very long. */
  text: string;
  /** The number of UTF-16 units received. */
  length: number;
  /** False when the end marker was missing. */
  isComplete: boolean;
}

/** The longest text that a paste can produce in a field; all values of the dashboard are shorter. */
export const longestPastedLine = 4096;

interface PastedLine {
  line: Line;
  /** A warning about an unusual paste. */
  warning: string | undefined;
}

/** The line with the text at its cursor. Line breaks become `separator`. */
export const pastedInto = (line: Line, {text, length, isComplete}: Paste, separator = ' '): PastedLine => {
  const chars = typedCharacters(oneLine(stripVTControlCharacters(text), separator));
  const taken = chars.slice(0, Math.max(0, longestPastedLine - [...line.text].length));
  const isCut = taken.length < chars.length || text.length < length;
  const cut = `Pasted text of ${plural(length, 'character')} was cut: the field took ${countText(taken.length)}`;
  const unfinished = 'The end of the pasted text did not arrive: check what is in the field';
  return {line: inserted(line, taken), warning: isCut ? cut : isComplete ? undefined : unfinished};
};

/** The message for a paste where no text is accepted. */
export const pasteIgnored = ({length}: Paste): string =>
  `Pasted text (${plural(length, 'character')}) does nothing here: paste into a text field`;

const lineBreak = /[\r\n\v\f\u0085\u2028\u2029]+/;

const oneLine = (text: string, separator: string): string => {
  const lines = text
    .replaceAll('\t', ' ')
    .split(lineBreak)
    .filter(line => line.trim() !== '');
  if (lines.length <= 1) return lines[0] ?? '';
  const mark = separator.trim();
  // The pasted list may have commas already.
  return lines
    .map(line => (mark !== '' && line.trim().endsWith(mark) ? line.trim().slice(0, -mark.length) : line).trim())
    .join(separator);
};
