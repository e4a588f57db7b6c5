import {safeLine} from '../../../shared/safe-text.ts';

/** The length that all terminals accept; some drop longer ones silently. */
const longestBytes = 74_000;

/**
 * Asks the terminal to put text on the clipboard (OSC 52), as one line without hidden characters. The text is sent as base64, so it
 * cannot contain other control sequences. False when it is too long. The terminal does not answer, so success is unknown.
 */
export const copyToClipboard = (stdout: {write(text: string): unknown}, text: string): boolean => {
  const encoded = Buffer.from(safeLine(text), 'utf8').toString('base64');
  if (encoded.length > longestBytes) return false;
  stdout.write(`\x1b]52;c;${encoded}\x07`);
  return true;
};
