// Directory of all domains with their DKIM keys, and of all filters, in memory, because SMTP needs them for every recipient.

import {groupBy} from '../../../shared/collections.ts';
import type {Domain} from '../../../shared/domain.ts';
import {unreadableRetention} from '../../../shared/retention.ts';
import {createYield} from '../event-loop-yield.ts';
import {type CompiledFilter, compileFilters, createFilterSet, type FilterSet} from '../intake/filters.ts';
import type {ConfigStore, Store} from '../ports.ts';
import {allDomains, type ChangedKey, type Kind, type StoredDkimKey} from '../records.ts';

export interface DomainDirectory {
  findByName(name: string): Domain | undefined;
  findById(id: number): Domain | undefined;
  /** All domains, ordered by name. */
  list(): Domain[];
  /** Its own filters, and those for all domains. */
  filtersOf(domainId: number): FilterSet;
  dkimKeysOf(domainId: number): StoredDkimKey[];
}

interface Observers {
  /** Called once for each domain whose retention this version cannot read. */
  onUnreadableRetention?(domain: Domain): void;
}

export const createDomainDirectory = async (
  store: Store,
  configuration: ConfigStore,
  {onUnreadableRetention}: Observers = {},
): Promise<DomainDirectory> => {
  const byId = new Map<number, Domain>();
  const byName = new Map<string, Domain>();
  const yieldNow = createYield();
  const filters = new Map<number, CompiledFilter[]>();
  const dkimKeys = new Map<number, StoredDkimKey[]>();
  let sorted: Domain[] | undefined;
  const unreadable = new Set<number>();

  const checkRetention = (domain: Domain) => {
    if (domain.retention !== unreadableRetention) unreadable.delete(domain.id);
    else if (!unreadable.has(domain.id)) {
      unreadable.add(domain.id);
      onUnreadableRetention?.(domain);
    }
  };
  const forget = (id: number) => {
    const known = byId.get(id);
    if (known && byName.get(known.name)?.id === id) byName.delete(known.name);
    byId.delete(id);
  };
  /** Reads the named domains, filters and keys again; all of them if none are named. */
  const load = async ({domainIds, filtersOf, keysOf}: Partial<ReturnType<typeof affectedBy>>): Promise<void> => {
    // Everything is read before anything is replaced, so that no mail is processed with a domain but without its filters.
    const domains = await store.config.listDomains(domainIds);
    const filtersNow = groupBy(await store.config.listMailFilters(filtersOf), ({domain_id}) => domain_id);
    const keysNow = groupBy(await store.config.listDkimKeys(keysOf), ({domain_id}) => domain_id);

    for (const id of domainIds ?? []) forget(id);
    for (const domain of domains) {
      byId.set(domain.id, domain);
      byName.set(domain.name, domain);
      checkRetention(domain);
    }
    sorted = undefined;
    for (const id of filtersOf ?? []) filters.delete(id);
    for (const [id, list] of filtersNow) filters.set(id, compileFilters(list));
    for (const id of keysOf ?? []) dkimKeys.delete(id);
    for (const [id, list] of keysNow) dkimKeys.set(id, list);
  };

  await load({});
  configuration.onChange(async changed => load(affectedBy(changed)));

  return {
    findByName: name => byName.get(name),
    findById: id => byId.get(id),
    list() {
      sorted ??= [...byId.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
      return sorted;
    },
    filtersOf: domainId => createFilterSet([...(filters.get(domainId) ?? []), ...(filters.get(allDomains) ?? [])], yieldNow),
    dkimKeysOf: domainId => dkimKeys.get(domainId) ?? [],
  };
};

/** The ids of domains to read again, and of domains whose filters or keys are to be read again. */
const affectedBy = (changed: ChangedKey[]) => {
  const parentsOf = (kind: Kind) => [...new Set(changed.flatMap(one => (one.kind === kind ? (one.parent_id ?? []) : [])))];
  return {
    domainIds: changed.filter(({kind}) => kind === 'domain').map(({id}) => id),
    filtersOf: parentsOf('mail_filter'),
    keysOf: parentsOf('dkim_key'),
  };
};
