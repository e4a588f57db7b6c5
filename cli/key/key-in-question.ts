import type {ApiKey} from '../../shared/api-key.ts';
import type {Session} from '../session.ts';
import {findKey, type KeyWish} from './find-key.ts';

interface KeyQuestion extends KeyWish {
  question(key: string): string;
  isAgreed: boolean | undefined;
}

/** Finds the key and asks `question` with its name and scope, as an id alone is easily mistaken. */
export const confirmKey = async (session: Session, {question, isAgreed, ...wish}: KeyQuestion): Promise<ApiKey> => {
  // Without a terminal the question fails, so the key need not be read first.
  if (!isAgreed && !session.terminal.stdin.isTTY) await session.confirm(question(`key ${wish.named}`), isAgreed);
  const key = await findKey(await session.client(), wish);

  const what = [key.name, ...(key.domain === null ? [key.scope] : [`${key.scope} for ${key.domain}`])].join(', ');
  const own = (await isInUse(session, key)) ? ' It is the key that this command uses.' : '';
  await session.confirm(`${question(`key ${key.id} (${what})`)}${own}`, isAgreed);
  return key;
};

/** The node never shows a key again, and two keys rarely share a beginning. */
export const isInUse = async (session: Session, {key_prefix}: Pick<ApiKey, 'key_prefix'>): Promise<boolean> => {
  const {apiKey} = await session.connection();
  return apiKey?.startsWith(key_prefix) ?? false;
};
