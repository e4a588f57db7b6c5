import type {ApiKey} from '../../shared/api-key.ts';
import {CliError, exitCodes} from '../cli-error.ts';
import type {Session} from '../session.ts';

/** Asks `question` of the key by its name and scope: an id alone is easily that of another key, or of the one in use. */
export const confirmKey = async (
  session: Session,
  {id, question, isAgreed}: {id: number; question: (key: string) => string; isAgreed: boolean | undefined},
): Promise<void> => {
  if (isAgreed) return;
  // Nobody is there to be told more.
  if (!session.terminal.stdin.isTTY) return session.confirm(question(`key ${id}`), isAgreed);
  const client = await session.client();
  const {data: keys} = await client.send<ApiKey[]>({path: 'auth/api-keys'});
  const key = keys.find(one => one.id === id);
  if (!key) throw new CliError('not_found', `there is no key ${id}`, {exitCode: exitCodes.notFound, hint: 'mfctl key list'});

  const what = [key.name, ...(key.domain === null ? [key.scope] : [`${key.scope} for ${key.domain}`])].join(', ');
  const own = (await isInUse(session, key)) ? ' It is the key that this command uses.' : '';
  await session.confirm(`${question(`key ${id} (${what})`)}${own}`, isAgreed);
};

/** The node never shows a key again, and a beginning that two keys share would be a rare chance. */
export const isInUse = async (session: Session, {key_prefix}: Pick<ApiKey, 'key_prefix'>): Promise<boolean> => {
  const {apiKey} = await session.connection();
  return apiKey?.startsWith(key_prefix) ?? false;
};
