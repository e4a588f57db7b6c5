// Tokens of the links for recipients: the node that has the mail, and 128 random bits, whose hash is stored there.
import {createHash, randomBytes} from 'node:crypto';

/** In a URL as it is: the number of the node in base 36, a hyphen and the random bits in base64url. */
export const newToken = (nodeNo: number): string => `${nodeNo.toString(36)}-${randomBytes(16).toString('base64url')}`;

/** Of the text: there is no second spelling of a token. */
export const hashOfToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** The number of the node in a token; undefined for what is no token. */
export const nodeNoIn = (token: string): number | undefined => {
  const [, no] = /^([1-9a-z][0-9a-z]{0,3})-[\w-]{22}$/.exec(token) ?? [];
  return no === undefined ? undefined : Number.parseInt(no, 36);
};
