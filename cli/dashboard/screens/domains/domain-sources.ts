// Sources of the domains screen. Changes of domains send events; filters and keys do not, and held mail arrives too often for a count each time.
import type {Domain} from '../../../../shared/domain.ts';
import type {AppContext} from '../../shell/app-context.ts';
import type {Source} from '../../shell/source.ts';
import type {WholeDomain} from './domain-parts.ts';

export const domainsSource = ({client, source}: AppContext): Source<Domain[]> =>
  source('domains', {load: async () => (await client.domains.list()).data, refreshOn: ['domain']});

export const wholeDomainSource = ({client, source}: AppContext, id: number): Source<WholeDomain> =>
  source(`domain ${id}`, {
    load: async () => {
      const [domain, filters, keys] = await Promise.all([
        client.domains.get(id),
        client.domains.filters(id),
        client.domains.dkimKeys(id),
      ]);
      return {domain: domain.data, filters: filters.data, keys: keys.data};
    },
    refreshOn: ['domain'],
  });

interface HeldCounts {
  byDomain: ReadonlyMap<string, number>;
  unreachable: readonly string[];
}

export const heldSource = ({client, source, may}: AppContext): Source<HeldCounts | undefined> =>
  source('held by domain', {
    load: async () => {
      if (!may('quarantine:read')) return undefined;
      const {data, unreachableNodes} = await client.quarantine.summary();
      const byDomain = new Map<string, number>();
      for (const {domain, count} of data.groups) byDomain.set(domain, (byDomain.get(domain) ?? 0) + count);
      return {byDomain, unreachable: unreachableNodes};
    },
    refreshOn: [],
    everyMs: 10_000,
  });
