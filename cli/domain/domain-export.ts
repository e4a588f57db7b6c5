import type {Command} from 'commander';
import {ascending} from '../../shared/collections.ts';
import type {Domain} from '../../shared/domain.ts';
import {canonicalDomain} from '../../shared/domain-name.ts';
import type {Client} from '../client/client.ts';
import {inParallel} from '../client/in-parallel.ts';
import {CliError, notFound} from '../errors.ts';
import type {Session} from '../session.ts';
import {allDomains, type FilterRule, sortedRules} from './domain-entry.ts';
import {settingsOf} from './domain-fields.ts';
import {parallelRequests} from './domain-plan.ts';

export const addExportCommand = (domain: Command, session: Session): void => {
  domain
    .command('export')
    .description('print domains with their settings and mail filters as YAML, for domain apply')
    .argument('[domain...]', 'names or ids (all)')
    .addHelpText('after', help)
    .action((namesOrIds: string[]) => exportDomains(session, namesOrIds));
};

const help = `
Ids, times and DKIM keys are left out: another cluster has its own. The order is always the same, so that two exports can
be compared. With a full-admin key, and no domain named, the mail filters for all domains are there too, as all_domains.

Examples:
  mfctl domain export > domains.yaml
  mfctl -c old domain export | mfctl -c new domain apply -f - --yes`;

const exportDomains = async (session: Session, namesOrIds: readonly string[]): Promise<void> => {
  const client = await session.client();
  const {data} = await client.domains.list();
  const ofAll = namesOrIds.length === 0 ? await globalRules(client) : undefined;
  const chosen = choose(data, namesOrIds).toSorted((a, b) => ascending(a.name, b.name));
  const domains = await inParallel(chosen, parallelRequests, async domain => {
    const filters = await client.domains.filters(domain.id);
    return {name: domain.name, ...settingsOf(domain), filters: sortedRules(filters.data).map(written)};
  });

  const exported = {...(ofAll && {[allDomains]: {filters: ofAll}}), domains};
  const printer = session.printer();
  if (!printer.isForPeople) return printer.value(exported);
  const {safeYaml} = await import('../output/safe-yaml.ts');
  printer.text(safeYaml(exported));
};

/** Undefined for a key that may not see them, and on a node of an earlier version, which has none. */
const globalRules = async (client: Client): Promise<Partial<FilterRule>[] | undefined> => {
  try {
    const {data} = await client.filters.list();
    return sortedRules(data).map(written);
  } catch (error) {
    if (!(error instanceof CliError) || (error.code !== 'insufficient_scope' && error.code !== 'not_found')) throw error;
    return undefined;
  }
};

const choose = (domains: readonly Domain[], namesOrIds: readonly string[]): readonly Domain[] => {
  if (namesOrIds.length === 0) return domains;
  const chosen = namesOrIds.map(nameOrId => {
    const name = canonicalDomain(nameOrId);
    const found = domains.find(domain => domain.name === name || String(domain.id) === nameOrId);
    if (found) return found;
    throw notFound(`there is no domain ${nameOrId}`, 'mfctl domain list');
  });
  return [...new Set(chosen)];
};

/** Members that do not belong to the kind of filter are left out. */
const written = (rule: FilterRule): Partial<FilterRule> =>
  Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== null));
