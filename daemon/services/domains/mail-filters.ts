// Mail filters of a domain and for all domains: their rules are the same.
import {Fault} from '../../../shared/fault.ts';
import {maxFilters} from '../../../shared/filter-rules.ts';
import {createMailFilterSchema, type GlobalFilter, type MailFilter} from '../../../shared/mail-filter.ts';
import type {Actor} from '../actor.ts';
import type {ConfigStore, ConfigTransaction, Store} from '../ports.ts';
import {allDomains} from '../records.ts';
import {invalidFields, validate} from '../validate.ts';
import {suffixFault} from './suffix-fault.ts';

export interface FilterOwner {
  /** The id of a domain, or `allDomains`. */
  id: number;
  /** The first part of the target of audit entries, before the id of the filter. */
  name: string;
  /** Follows "filter" in messages: `of the domain example.com`. */
  whose: string;
  /** Throws if the owner is gone. */
  check?(tx: ConfigTransaction): Promise<void>;
}

export interface MailFilters {
  list(ownerId: number): Promise<MailFilter[]>;
  add(actor: Actor, owner: FilterOwner, body: unknown): Promise<MailFilter>;
  remove(actor: Actor, owner: FilterOwner, filterId: number): Promise<void>;
}

interface Needs {
  store: Store;
  configuration: ConfigStore;
}

export const createMailFilters = ({store, configuration}: Needs): MailFilters => ({
  list: async ownerId => (await store.config.listMailFilters([ownerId])).map(toFilter),

  async add(actor, owner, body) {
    const wanted = validate(createMailFilterSchema, body);
    const fault = await suffixFault(wanted);
    if (fault !== undefined) throw invalidFields([{path: 'pattern', detail: fault}]);
    return configuration.change(async tx => {
      await owner.check?.(tx);
      if ((await tx.config.listMailFilters([owner.id])).length >= maxFilters)
        throw new Fault('conflict', `there are ${maxFilters} filters ${owner.whose}, the most there may be; delete one first`);
      const id = await tx.nextId('mail_filter');
      const fields = {domain_id: owner.id, ...wanted, created_at: tx.at};
      await tx.create('mail_filter', id, fields);
      await tx.audit(actor, 'filter.create', `${owner.name}/${id}`, `${wanted.action} ${wanted.match} ${wanted.pattern}`);
      return {id, ...fields};
    });
  },

  async remove(actor, owner, filterId) {
    await configuration.change(async tx => {
      const filters = await tx.config.listMailFilters([owner.id]);
      if (!filters.some(({id}) => id === filterId)) throw new Fault('not_found', `there is no filter ${filterId} ${owner.whose}`);
      await tx.remove('mail_filter', filterId);
      await tx.audit(actor, 'filter.delete', `${owner.name}/${filterId}`);
    });
  },
});

export interface GlobalFilters {
  list(): Promise<GlobalFilter[]>;
  add(actor: Actor, body: unknown): Promise<GlobalFilter>;
  remove(actor: Actor, filterId: number): Promise<void>;
}

/** No domain has this name, as it has no dot. */
const everyDomain: FilterOwner = {id: allDomains, name: 'all', whose: 'for all domains'};

export const createGlobalFilters = (filters: MailFilters): GlobalFilters => ({
  list: async () => (await filters.list(allDomains)).map(withoutDomain),
  add: async (actor, body) => withoutDomain(await filters.add(actor, everyDomain, body)),
  remove: async (actor, filterId) => filters.remove(actor, everyDomain, filterId),
});

const withoutDomain = ({domain_id: _, ...filter}: MailFilter): GlobalFilter => filter;

/** Filters of earlier versions have no `authenticated`. */
const toFilter = (filter: MailFilter): MailFilter => ({...filter, authenticated: Boolean(filter.authenticated)});
