import type {GlobalFilter} from '../../shared/mail-filter.ts';
import type {Client, NewFilter} from '../client/client.ts';

export interface FilterList {
  list(): Promise<{data: GlobalFilter[]}>;
  add(filter: NewFilter): Promise<{data: GlobalFilter}>;
  remove(id: number): Promise<unknown>;
}

/** The filters of a domain; without an id, those for all domains. */
export const filterList = ({domains, filters}: Pick<Client, 'domains' | 'filters'>, domainId?: number | string): FilterList =>
  domainId === undefined
    ? filters
    : {
        list: async () => domains.filters(domainId),
        add: async filter => domains.addFilter(domainId, filter),
        remove: async id => domains.removeFilter(domainId, id),
      };
