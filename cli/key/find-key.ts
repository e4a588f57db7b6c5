import type {ApiKey} from '../../shared/api-key.ts';
import type {Client} from '../client/client.ts';
import {CliError, exitCodes} from '../errors.ts';
import {keyState} from './key-columns.ts';

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
  if (key === undefined) throw noSuchKey(named);
  if (others.length > 0) throw ambiguous(named, [key, ...others]);
  return key;
};

const noSuchKey = (named: string): CliError =>
  new CliError('not_found', `there is no key ${named}`, {exitCode: exitCodes.notFound, hint: 'mfctl key list'});

const ambiguous = (named: string, keys: readonly ApiKey[]): CliError =>
  new CliError(
    'ambiguous_key',
    `several keys are called ${named}: ${keys.map(key => `${key.id} (${key.scope}, ${keyState(key)})`).join(', ')}`,
    {exitCode: exitCodes.usage, hint: 'use the id'},
  );
