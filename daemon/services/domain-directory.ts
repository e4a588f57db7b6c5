// All domains with their filters and DKIM keys in memory: SMTP asks for them at every recipient.
import type {Domain} from '../../shared/domain.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import type {Database} from '../store/database.ts';
import {listDkimKeys, type StoredDkimKey} from '../store/dkim-key.ts';
import {findDomain, listDomains} from '../store/domain.ts';
import {listMailFilters} from '../store/mail-filter.ts';
import type {Configuration} from './configuration.ts';

export interface DomainDirectory {
  findByName(name: string): Domain | undefined;
  findById(id: number): Domain | undefined;
  /** All, by name. */
  list(): Domain[];
  filtersOf(domainId: number): MailFilter[];
  dkimKeysOf(domainId: number): StoredDkimKey[];
}

export const createDomainDirectory = async (database: Database, configuration: Configuration): Promise<DomainDirectory> => {
  const byId = new Map<number, Domain>();
  const byName = new Map<string, Domain>();
  const filters = new Map<number, MailFilter[]>();
  const dkimKeys = new Map<number, StoredDkimKey[]>();
  let sorted: Domain[] | undefined;

  const forget = (id: number) => {
    const known = byId.get(id);
    if (known && byName.get(known.name)?.id === id) byName.delete(known.name);
    byId.delete(id);
    sorted = undefined;
  };
  const keep = (domain: Domain) => {
    byId.set(domain.id, domain);
    byName.set(domain.name, domain);
    sorted = undefined;
  };

  for (const domain of await listDomains(database.read)) keep(domain);
  for (const filter of await listMailFilters(database.read)) append(filters, filter);
  for (const key of await listDkimKeys(database.read)) append(dkimKeys, key);

  const reload = async (id: number) => {
    const domain = await findDomain(database.read, id);
    forget(id);
    if (domain) keep(domain);
    filters.set(id, await listMailFilters(database.read, id));
    dkimKeys.set(id, await listDkimKeys(database.read, id));
  };

  configuration.onChange(async touched => {
    const domainIds = new Set(touched.flatMap(({kind, id, parent_id}) => (kind === 'domain' ? id : (parent_id ?? []))));
    for (const id of domainIds) await reload(id);
  });

  return {
    findByName: name => byName.get(name),
    findById: id => byId.get(id),
    list() {
      sorted ??= [...byId.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
      return sorted;
    },
    filtersOf: domainId => filters.get(domainId) ?? [],
    dkimKeysOf: domainId => dkimKeys.get(domainId) ?? [],
  };
};

const append = <T extends {domain_id: number}>(to: Map<number, T[]>, item: T): void => {
  const items = to.get(item.domain_id);
  if (items) items.push(item);
  else to.set(item.domain_id, [item]);
};
