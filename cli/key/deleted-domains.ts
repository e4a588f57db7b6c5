// Domains of a key that were deleted: a key means its domains, not their names, of which another domain may have one by now.
import type {ApiKey, Me} from '../../shared/api-key.ts';
import type {Domain} from '../../shared/domain.ts';
import {domainNamesOf} from '../../shared/scopes.ts';
import type {Client} from '../client/client.ts';
import {onlyCliError} from '../errors.ts';
import type {Session} from '../session.ts';

/** Nodes of 0.8 show no ids: there a domain of the same name counts. */
export const goneNames = (key: ApiKey, domains: readonly Pick<Domain, 'id' | 'name'>[]): string[] => {
  const {domain_ids: ids} = key as Partial<ApiKey>;
  const left = new Set(domains.filter(({id}) => ids?.includes(id) ?? true).map(({name}) => name));
  return domainNamesOf(key).filter(name => !left.has(name));
};

/** The keys as mfctl shows them to people; where domains cannot be read, it says so and marks none. */
export const withDeletedMarked = async <K extends ApiKey>(session: Session, client: Client, keys: readonly K[]): Promise<K[]> => {
  const printer = session.printer();
  if (!printer.isForPeople) return [...keys];
  return markDeleted(client, keys).catch((error: unknown) => {
    printer.warn(`whether domains of a key were deleted could not be read: ${onlyCliError(error).detail}`);
    return [...keys];
  });
};

/** Adds the mark to their names: `two.example (deleted)`. Asks for the domains where one of the keys has some. */
export const markDeleted = async <K extends ApiKey>(client: Client, keys: readonly K[]): Promise<K[]> => {
  if (!keys.some(hasDomainIds)) return [...keys];
  const domains = await domainsOf(client, keys);
  return keys.map(key => (hasDomainIds(key) ? marked(key, domains) : key));
};

const hasDomainIds = ({domain_ids}: Partial<ApiKey>): boolean => (domain_ids ?? []).length > 0;

/** A key that has lost all of its domains may not read any, not even that they are gone. */
const domainsOf = async (client: Client, keys: readonly (ApiKey & Partial<Me>)[]): Promise<readonly Domain[]> =>
  keys.every(({permissions}) => permissions !== undefined && !permissions.includes('domains:read'))
    ? []
    : (await client.domains.list()).data;

const marked = <K extends ApiKey>(key: K, domains: readonly Domain[]): K => {
  const gone = new Set(goneNames(key, domains));
  return {...key, domain: null, domains: domainNamesOf(key).map(name => (gone.has(name) ? `${name} (deleted)` : name))};
};
