// Plan of the changes that make the domains match a file. It reads, and changes nothing.
import type {Domain} from '../../shared/domain.ts';
import {areThresholdsInOrder, domainDefaults, hasBackend} from '../../shared/domain-rules.ts';
import {patternCostFault} from '../../shared/filter-rules.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import type {Client} from '../client/client.ts';
import {inParallel} from '../client/in-parallel.ts';
import {CliError} from '../errors.ts';
import type {LineFault} from '../files/bounded-yaml.ts';
import {
  type DomainEntry,
  type FilterRule,
  ruleKey,
  type SettingName,
  type Settings,
  settingNames,
  settingsOf,
  sortedRules,
} from './domain-entry.ts';
import type {DomainFile} from './domain-file.ts';

export interface SettingChange {
  name: SettingName;
  /** Undefined for a new domain. */
  from: unknown;
  to: unknown;
}

export interface FilterChanges {
  /** The filters at the time of the plan. */
  seen: MailFilter[];
  add: FilterRule[];
  remove: MailFilter[];
}

interface Named {
  name: string;
}
export type DomainChange =
  | (Named & {kind: 'unchanged'})
  | (Named & {kind: 'created'; settings: SettingChange[]; filters: FilterRule[]})
  | (Named & {kind: 'updated'; id: number; etag: string; settings: SettingChange[]; filters: FilterChanges | undefined})
  | (Named & {kind: 'deleted'; id: number; etag: string});

/** Concurrent requests, as ten thousand domains would otherwise need ten thousand round trips in sequence. */
export const parallelRequests = 8;

/** In the order of the file; with `isPruning`, the domains that it does not contain come last. */
export const planDomainChanges = async (client: Client, file: DomainFile, isPruning: boolean): Promise<DomainChange[]> => {
  const {data: domains} = await client.domains.list();
  const byName = new Map(domains.map(domain => [domain.name, domain]));
  requireRules(file, byName);

  const changes = await inParallel(file.entries, parallelRequests, async entry => {
    const domain = byName.get(entry.name);
    return domain ? planUpdate(client, entry, domain) : planCreation(entry);
  });
  requireCheapFilters(file, changes);
  const wanted = new Set(file.entries.map(({name}) => name));
  const others = isPruning ? domains.filter(({name}) => !wanted.has(name)) : [];
  const deletions = await inParallel(others, parallelRequests, async ({id, name}): Promise<DomainChange> => {
    const {etag} = await readDomain(client, id);
    return {kind: 'deleted', name, id, etag};
  });
  return [...changes, ...deletions];
};

/** Checks the rules between settings on the result: the settings of the file over the present ones. */
const requireRules = ({entries, fault, wrong}: DomainFile, byName: ReadonlyMap<string, Domain>): void => {
  const faults: LineFault[] = [];
  for (const [at, {name, settings}] of entries.entries()) {
    const next: Settings = {...domainDefaults, ...byName.get(name), ...settings};
    if (!hasBackend(next))
      faults.push(fault(at, 'needs at least one entry in backend_servers, unless its direction is outbound'));
    if (!areThresholdsInOrder(next))
      faults.push(
        fault(
          at,
          `has a quarantine_threshold (${next.quarantine_threshold}) above its reject_threshold (${next.reject_threshold})`,
        ),
      );
  }
  if (faults.length > 0) throw wrong(faults);
};

/** Checks new filters only: existing ones may stay. `changes` are in the order of the file. */
const requireCheapFilters = ({fault, wrong}: DomainFile, changes: readonly DomainChange[]): void => {
  const faults = changes.flatMap((change, at) =>
    addedFilters(change).flatMap(rule => {
      const detail = patternCostFault(rule);
      return detail === undefined ? [] : [fault(at, `has a filter whose pattern ${detail}: ${rule.pattern}`)];
    }),
  );
  if (faults.length > 0) throw wrong(faults);
};

const addedFilters = (change: DomainChange): readonly FilterRule[] => {
  if (change.kind === 'created') return change.filters;
  return change.kind === 'updated' ? (change.filters?.add ?? []) : [];
};

const planCreation = ({name, settings, filters = []}: DomainEntry): DomainChange => ({
  kind: 'created',
  name,
  settings: settingNames.flatMap(setting =>
    Object.hasOwn(settings, setting) ? [{name: setting, from: undefined, to: settings[setting]}] : [],
  ),
  filters: sortedRules(filters),
});

const planUpdate = async (client: Client, entry: DomainEntry, listed: Domain): Promise<DomainChange> => {
  const {name} = entry;
  const filters = entry.filters && (await planFilters(client, listed.id, entry.filters));
  if (differences(listed, entry).length === 0 && !filters) return {kind: 'unchanged', name};

  // The list has no ETags, which the changes need.
  const {domain, etag} = await readDomain(client, listed.id);
  const settings = differences(domain, entry);
  return settings.length === 0 && !filters
    ? {kind: 'unchanged', name}
    : {kind: 'updated', name, id: domain.id, etag, settings, filters};
};

const differences = (domain: Domain, {settings}: DomainEntry): SettingChange[] => {
  const current = settingsOf(domain);
  return settingNames
    .filter(name => Object.hasOwn(settings, name) && JSON.stringify(settings[name]) !== JSON.stringify(current[name]))
    .map(name => ({name, from: current[name], to: settings[name]}));
};

/** Counts equal filters, as two of them add their score twice. */
const planFilters = async (client: Client, id: number, wanted: readonly FilterRule[]): Promise<FilterChanges | undefined> => {
  const {data: seen} = await client.domains.filters(id);
  const missing = new Map<string, number>();
  for (const rule of wanted) missing.set(ruleKey(rule), (missing.get(ruleKey(rule)) ?? 0) + 1);
  const take = (rule: FilterRule): boolean => {
    const left = missing.get(ruleKey(rule)) ?? 0;
    missing.set(ruleKey(rule), left - 1);
    return left > 0;
  };
  const remove = seen.filter(filter => !take(filter));
  const add = sortedRules(wanted).filter(take);
  return remove.length + add.length > 0 ? {seen, add, remove} : undefined;
};

const readDomain = async (client: Client, id: number): Promise<{domain: Domain; etag: string}> => {
  const {data: domain, etag} = await client.domains.get(id);
  if (etag === undefined) throw new CliError('unexpected_answer', `the node told no version (ETag) of the domain ${domain.name}`);
  return {domain, etag};
};
