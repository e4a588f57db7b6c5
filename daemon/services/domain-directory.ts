// All domains with their filters and DKIM keys in memory: SMTP asks for them at every recipient.
import type {Domain} from '../../shared/domain.ts';
import {groupBy} from '../../shared/group-by.ts';
import type {Database} from '../store/database.ts';
import {listDkimKeys, type StoredDkimKey} from '../store/dkim-key.ts';
import {findDomain, listDomains} from '../store/domain.ts';
import {listMailFilters} from '../store/mail-filter.ts';
import type {Configuration} from './configuration.ts';
import {compileFilters, type FilterSet} from './filters.ts';
import {createTurns} from './turns.ts';

export interface DomainDirectory {
  findByName(name: string): Domain | undefined;
  findById(id: number): Domain | undefined;
  /** All, by name. */
  list(): Domain[];
  filtersOf(domainId: number): FilterSet;
  dkimKeysOf(domainId: number): StoredDkimKey[];
}

export const createDomainDirectory = async (database: Database, configuration: Configuration): Promise<DomainDirectory> => {
  const byId = new Map<number, Domain>();
  const byName = new Map<string, Domain>();
  const turn = createTurns();
  const noFilters = compileFilters([], turn);
  const filters = new Map<number, FilterSet>();
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
  for (const [id, list] of groupBy(await listMailFilters(database.read), ({domain_id}) => domain_id))
    filters.set(id, compileFilters(list, turn));
  for (const [id, list] of groupBy(await listDkimKeys(database.read), ({domain_id}) => domain_id)) dkimKeys.set(id, list);

  const reload = async (id: number) => {
    const domain = await findDomain(database.read, id);
    forget(id);
    if (domain) keep(domain);
    filters.set(id, compileFilters(await listMailFilters(database.read, id), turn));
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
    filtersOf: domainId => filters.get(domainId) ?? noFilters,
    dkimKeysOf: domainId => dkimKeys.get(domainId) ?? [],
  };
};
