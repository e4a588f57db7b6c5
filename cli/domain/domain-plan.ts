// Plan of the changes that make the domains, and the filters for all of them, match a file. It reads, and changes nothing.
import type {Domain} from '../../shared/domain.ts';
import {areThresholdsInOrder, domainDefaults, hasBackend} from '../../shared/field-rules.ts';
import {newPatternFault} from '../../shared/filter-rules.ts';
import type {Client} from '../client/client.ts';
import {inParallel} from '../client/in-parallel.ts';
import {CliError, exitCodes} from '../errors.ts';
import type {LineFault} from '../files/bounded-yaml.ts';
import {filterList} from '../filter/filter-list.ts';
import {allDomains, type DomainEntry, type FilterRule, sortedRules} from './domain-entry.ts';
import {isSame, type SettingName, type Settings, settingNames, settingsOf} from './domain-fields.ts';
import type {DomainFile} from './domain-file.ts';
import {changeFilters, type FilterChanges, planFilters} from './filter-plan.ts';

export interface SettingChange {
  name: SettingName;
  /** Undefined for a new domain. */
  from: unknown;
  to: unknown;
}

interface Named {
  /** Of the domain, or `allDomains`. */
  name: string;
}
export type DomainChange =
  | (Named & {kind: 'unchanged'})
  | (Named & {kind: 'created'; settings: SettingChange[]; filters: FilterRule[]})
  | (Named & {kind: 'updated'; id: number; etag: string; settings: SettingChange[]; filters: FilterChanges | undefined})
  | (Named & {kind: 'refiltered'; filters: FilterChanges})
  | (Named & {kind: 'deleted'; id: number; etag: string});

/** Concurrent requests, as ten thousand domains would otherwise need ten thousand round trips in sequence. */
export const parallelRequests = 8;

/** Filters for all domains come first, then the domains in the order of the file; with `isPruning`, the domains that it does not contain come last. */
export const planDomainChanges = async (client: Client, file: DomainFile, isPruning: boolean): Promise<DomainChange[]> => {
  const {data: domains} = await client.domains.list();
  const byName = new Map(domains.map(domain => [domain.name, domain]));
  requireRules(file, byName);

  const ofAll = file.allDomains ? [await planGlobalFilters(client, file.allDomains)] : [];
  const changes = await inParallel(file.entries, parallelRequests, async entry => {
    const domain = byName.get(entry.name);
    return domain ? planUpdate(client, entry, domain) : planCreation(entry);
  });
  requireCheapFilters(file, ofAll, changes);
  const wanted = new Set(file.entries.map(({name}) => name));
  const others = isPruning ? domains.filter(({name}) => !wanted.has(name)) : [];
  const deletions = await inParallel(others, parallelRequests, async ({id, name}): Promise<DomainChange> => {
    const {etag} = await readDomain(client, id);
    return {kind: 'deleted', name, id, etag};
  });
  return [...ofAll, ...changes, ...deletions];
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
const requireCheapFilters = (
  {fault, wrong}: DomainFile,
  ofAll: readonly DomainChange[],
  changes: readonly DomainChange[],
): void => {
  const faultsOf = (change: DomainChange, at: number | undefined): LineFault[] =>
    addedFilters(change).flatMap(rule => {
      const detail = newPatternFault(rule);
      return detail === undefined ? [] : [fault(at, `has a filter whose pattern ${detail}: ${rule.pattern}`)];
    });
  const faults = [...ofAll.flatMap(change => faultsOf(change, undefined)), ...changes.flatMap(faultsOf)];
  if (faults.length > 0) throw wrong(faults);
};

const addedFilters = (change: DomainChange): readonly FilterRule[] => {
  if (change.kind === 'created') return change.filters;
  return change.kind === 'updated' || change.kind === 'refiltered' ? (change.filters?.add ?? []) : [];
};

const planGlobalFilters = async (client: Client, wanted: readonly FilterRule[]): Promise<DomainChange> => {
  const filters = await planFilters(filterList(client), wanted).catch((error: unknown) => {
    throw error instanceof CliError ? error.with({detail: `${allDomains}: ${error.detail}`}) : error;
  });
  return filters ? {kind: 'refiltered', name: allDomains, filters} : {kind: 'unchanged', name: allDomains};
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
  const filters = entry.filters && (await planFilters(filterList(client, listed.id), entry.filters));
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
    .filter(name => Object.hasOwn(settings, name) && !isSame(settings[name], current[name]))
    .map(name => ({name, from: current[name], to: settings[name]}));
};

const readDomain = async (client: Client, id: number): Promise<{domain: Domain; etag: string}> => {
  const {data: domain, etag} = await client.domains.get(id);
  if (etag === undefined) throw new CliError('unexpected_answer', `the node sent no version (ETag) of the domain ${domain.name}`);
  return {domain, etag};
};

export interface ChangeOutcome {
  change: DomainChange;
  /** The id of the domain, when it was changed as planned. */
  id?: number;
  error?: CliError;
  /** A part of the change was made, even if the rest failed. */
  isBegun: boolean;
}

/**
 * Continues after a failure that concerns one domain. A failure that would hit all others too (no connection, no valid key) is `end`:
 * the changes after it are not tried, and have no outcome.
 */
export const applyDomainChanges = async (
  client: Client,
  changes: readonly DomainChange[],
): Promise<{outcomes: ChangeOutcome[]; end: CliError | undefined}> => {
  const outcomes: ChangeOutcome[] = [];
  for (const change of changes) {
    let isBegun = false;
    const step: Step = async change => {
      const answer = await change;
      isBegun = true;
      return answer;
    };
    try {
      const id = await applyOne(client, change, step);
      outcomes.push({change, isBegun, ...(id !== undefined && {id})});
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      outcomes.push({change, isBegun, error});
      if (isEnd(error)) return {outcomes, end: error};
    }
  }
  return {outcomes, end: undefined};
};

/** A domain-admin key may not create domains, but that is no reason to stop. */
const isEnd = ({exitCode, code}: CliError): boolean =>
  exitCode === exitCodes.unreachable ||
  exitCode === exitCodes.interrupted ||
  (exitCode === exitCodes.notAuthorised && code !== 'insufficient_scope');

/** Every request that changes something goes through it. */
type Step = <T>(change: Promise<T>) => Promise<T>;

const applyOne = async (client: Client, change: DomainChange, step: Step): Promise<number | undefined> => {
  const {domains} = client;
  switch (change.kind) {
    case 'unchanged':
      return undefined;
    case 'created': {
      const {data} = await step(domains.create({name: change.name, ...wanted(change.settings)}));
      for (const rule of change.filters) await step(domains.addFilter(data.id, rule));
      return data.id;
    }
    case 'updated':
      if (change.settings.length > 0) await step(domains.update(change.id, wanted(change.settings), change.etag));
      if (change.filters) await changeFilters(filterList(client, change.id), change.filters, step);
      return change.id;
    case 'refiltered':
      await changeFilters(filterList(client), change.filters, step);
      return undefined;
    case 'deleted':
      await step(domains.remove(change.id, change.etag));
      return undefined;
    default:
      return change satisfies never;
  }
};

const wanted = (settings: readonly SettingChange[]): Record<string, unknown> =>
  Object.fromEntries(settings.map(({name, to}) => [name, to]));
