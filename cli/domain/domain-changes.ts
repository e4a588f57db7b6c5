// Execution of a plan: domain by domain, each with the ETag of the planned version.
import {maxFilters} from '../../shared/filter-rules.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import type {Client} from '../client/client.ts';
import {CliError, exitCodes} from '../errors.ts';
import {ruleKey} from './domain-entry.ts';
import type {DomainChange, FilterChanges, SettingChange} from './domain-plan.ts';

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

/** A domain-admin key may not create domains, which is no reason to stop. */
const isEnd = ({exitCode, code}: CliError): boolean =>
  exitCode === exitCodes.unreachable ||
  exitCode === exitCodes.interrupted ||
  (exitCode === exitCodes.notAuthorised && code !== 'insufficient_scope');

/** Every request that changes something goes through it. */
type Step = <T>(change: Promise<T>) => Promise<T>;

const applyOne = async ({domains}: Client, change: DomainChange, step: Step): Promise<number | undefined> => {
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
      if (change.filters) await changeFilters(domains, {id: change.id, filters: change.filters}, step);
      return change.id;
    case 'deleted':
      await step(domains.remove(change.id, change.etag));
      return undefined;
    default:
      return change satisfies never;
  }
};

const wanted = (settings: readonly SettingChange[]): Record<string, unknown> =>
  Object.fromEntries(settings.map(({name, to}) => [name, to]));

/** Filters have no ETag, so they are read again: a concurrent change must not be lost. */
const changeFilters = async (
  domains: Client['domains'],
  {id, filters: {seen, add, remove}}: {id: number; filters: FilterChanges},
  step: Step,
): Promise<void> => {
  const {data: now} = await domains.filters(id);
  if (identityOf(now) !== identityOf(seen))
    throw new CliError('precondition_failed', 'its mail filters have changed since they were read', {
      hint: 'somebody changed them meanwhile; run the same command again',
    });
  const adding = async () => {
    for (const rule of add) await step(domains.addFilter(id, rule));
  };
  const removing = async () => {
    for (const {id: filterId} of remove) await step(domains.removeFilter(id, filterId));
  };
  // Adds before it removes, if the limit allows: both rules for a moment are better than none.
  const steps = seen.length + add.length > maxFilters ? [removing, adding] : [adding, removing];
  for (const step of steps) await step();
};

const identityOf = (filters: readonly MailFilter[]): string =>
  JSON.stringify(filters.map(filter => [filter.id, ruleKey(filter)]).sort(([a], [b]) => Number(a) - Number(b)));
