// API keys by name or id, and the one that a question is about.
import type {ApiKey} from '../../shared/api-key.ts';
import type {Client} from '../client/client.ts';
import {CliError, exitCodes, notFound} from '../errors.ts';
import type {Session} from '../session.ts';
import {grantText, keyState} from './key-fields.ts';

export interface KeyWish {
  /** Finds a key by name or id. A number is tried as an id first. */
  named: string;
  /** Prefer active keys: among several keys of the name, ended ones count only when none is active. */
  isActiveMeant?: boolean;
}

export const findKey = async (client: Pick<Client, 'keys'>, wish: KeyWish): Promise<ApiKey> => {
  const {data: keys} = await client.keys.list();
  return chooseKey(keys, wish);
};

export const chooseKey = (keys: readonly ApiKey[], {named, isActiveMeant = false}: KeyWish): ApiKey => {
  const byId = keys.find(({id}) => String(id) === named);
  if (byId) return byId;

  const all = keys.filter(({name}) => name === named);
  const active = isActiveMeant ? all.filter(key => keyState(key) === 'active') : [];
  const [key, ...others] = active.length > 0 ? active : all;
  if (key === undefined) throw notFound(`there is no key ${named}`, 'mfctl key list');
  if (others.length > 0) throw ambiguous(named, [key, ...others]);
  return key;
};

const ambiguous = (named: string, keys: readonly ApiKey[]): CliError =>
  new CliError(
    'ambiguous_key',
    `several keys are called ${named}: ${keys.map(key => `${key.id} (${key.scope}, ${keyState(key)})`).join(', ')}`,
    {exitCode: exitCodes.usage, hint: 'use the id'},
  );

interface KeyQuestion extends KeyWish {
  question(key: string): string;
  isAgreed: boolean | undefined;
}

/** Finds the key and asks `question` with its name and scope, as an id alone is easily mistaken. */
export const confirmKey = async (session: Session, {question, isAgreed, ...wish}: KeyQuestion): Promise<ApiKey> => {
  const key = await findKey(await session.client(), wish);

  const what = `${key.name}, ${grantText(key)}`;
  const own = (await isInUse(session, key)) ? ' It is the key that this command uses.' : '';
  await session.confirm(`${question(`key ${key.id} (${what})`)}${own}`, isAgreed);
  return key;
};

/** The node never shows a key again, and two keys rarely share a beginning. */
export const isInUse = async (session: Session, {key_prefix}: Pick<ApiKey, 'key_prefix'>): Promise<boolean> => {
  const {apiKey} = await session.connection();
  return apiKey?.startsWith(key_prefix) ?? false;
};
