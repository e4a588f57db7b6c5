import {safeLine} from '../../../shared/safe-text.ts';

/** The length that all terminals accept; some drop longer ones silently. */
const longestBytes = 74_000;

/** Asks the terminal to put text on the clipboard (OSC 52). The text is sent as base64, so it cannot contain other control sequences. */
export const clipboardSequence = (text: string): string | undefined => {
  const encoded = Buffer.from(text, 'utf8').toString('base64');
  return encoded.length > longestBytes ? undefined : `\x1b]52;c;${encoded}\x07`;
};

/**
 * False when it is too long. The terminal does not answer, so success is unknown. The text is one line without hidden characters.
 */
export const copyToClipboard = (stdout: {write(text: string): unknown}, text: string): boolean => {
  const sequence = clipboardSequence(safeLine(text));
  if (sequence !== undefined) stdout.write(sequence);
  return sequence !== undefined;
};
