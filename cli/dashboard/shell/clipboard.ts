import {safeLine} from '../../../shared/safe-text.ts';

/** What terminals take of it at least; a longer one is dropped by some, silently. */
const longestBytes = 74_000;

/** Asks the terminal to put text on the clipboard (OSC 52). Base64 alone is sent, so that no text can say anything else to it. */
export const clipboardSequence = (text: string): string | undefined => {
  const encoded = Buffer.from(text, 'utf8').toString('base64');
  return encoded.length > longestBytes ? undefined : `\x1b]52;c;${encoded}\x07`;
};

/**
 * False when it is too long. Nobody answers, so nobody knows whether the terminal has taken it. One line that holds nothing unseen.
 */
export const copyToClipboard = (stdout: {write(text: string): unknown}, text: string): boolean => {
  const sequence = clipboardSequence(safeLine(text));
  if (sequence !== undefined) stdout.write(sequence);
  return sequence !== undefined;
};
