import type {Domain} from '../../shared/domain.ts';
import {canonicalDomain} from '../../shared/domain-name.ts';
import type {Answer, Client} from '../client/client.ts';
import {notFound} from '../errors.ts';

/** Finds a domain by name or id, with its ETag. A name never consists of digits alone, an id always does. */
export const findDomain = async (client: Client, nameOrId: string): Promise<Answer<Domain>> =>
  client.domains.get(await findDomainId(client, nameOrId));

export const findDomainId = async (client: Pick<Client, 'domains'>, nameOrId: string): Promise<number | string> => {
  if (/^\d+$/.test(nameOrId)) return nameOrId;

  const {data} = await client.domains.list();
  const name = canonicalDomain(nameOrId);
  const found = data.find(domain => domain.name === name);
  if (!found) throw notFound(`no domain is called ${nameOrId}`, 'mfctl domain list');
  return found.id;
};
