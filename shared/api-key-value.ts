// Text of an API key: mfk_ + 32 random base62 characters + 6 characters of CRC32, also base62.
import {randomInt} from 'node:crypto';
import {crc32} from 'node:zlib';

export const keyPrefixLength = 12;

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = /^mfk_[0-9A-Za-z]{38}$/;

export const generateApiKey = (): string => {
  const secret = Array.from({length: 32}, () => alphabet[randomInt(alphabet.length)]).join('');
  return `mfk_${secret}${checksum(`mfk_${secret}`)}`;
};

/** False for anything that cannot be a key, so that a typing error costs no database query. */
export const isApiKeyValue = (text: string): boolean => shape.test(text) && checksum(text.slice(0, -6)) === text.slice(-6);

const checksum = (text: string): string => toBase62(crc32(text), 6);

/** Unsigned, padded with zeros on the left. */
export const toBase62 = (value: number, length: number): string => {
  let digits = '';
  for (let rest = value; digits.length < length; rest = Math.floor(rest / 62)) digits = (alphabet[rest % 62] ?? '') + digits;
  return digits;
};
