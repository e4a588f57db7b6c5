// JSON that only passes through stays the bytes that it is, in a string with one character for each of them: to decode what a list holds, to
// measure it and to encode it again took a sixth of the main thread's time in lists.
import {isUtf8} from 'node:buffer';

declare const ofBytes: unique symbol;

/** UTF-8, each byte as the character of its number. What is ASCII in it, as all that JSON adds to texts, reads as it is. */
export type ByteText = string & {readonly [ofBytes]: true};

/** Undefined for what is not UTF-8. */
export const byteTextIn = (bytes: Buffer): ByteText | undefined =>
  isUtf8(bytes) ? (bytes.toString('latin1') as ByteText) : undefined;

export const toByteText = (text: string): ByteText => Buffer.from(text).toString('latin1') as ByteText;

export const bytesOf = (text: ByteText): Buffer => Buffer.from(text, 'latin1');
