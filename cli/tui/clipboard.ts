// The clipboard of the terminal that somebody sits at, over as many connections as there are in between (OSC 52).
import {safeLine} from '../../shared/safe-text.ts';

/** Terminals take no more than this. */
const maxChars = 74_000;

/**
 * False when it is too long. Nobody answers, so nobody knows whether the terminal has taken it. What is written is base64, so that no
 * text can end the sequence, and one line that holds nothing unseen.
 */
export const copyToClipboard = (stdout: {write(text: string): unknown}, text: string): boolean => {
  const encoded = Buffer.from(safeLine(text), 'utf8').toString('base64');
  if (encoded.length > maxChars) return false;
  stdout.write(`\x1b]52;c;${encoded}\x07`);
  return true;
};
