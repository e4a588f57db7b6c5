// Plan of the changes that make a list of mail filters match a file: the filters of a domain, or those for all domains.
import {groupBy} from '../../shared/collections.ts';
import {maxFilters} from '../../shared/filter-rules.ts';
import type {GlobalFilter} from '../../shared/mail-filter.ts';
import {CliError} from '../errors.ts';
import type {FilterList} from '../filter/filter-list.ts';
import {type FilterRule, kindKey, ruleKey, sortedRules} from './domain-entry.ts';

export interface FilterChanges {
  /** The filters at the time of the plan. */
  seen: GlobalFilter[];
  add: FilterRule[];
  remove: GlobalFilter[];
}

/** Counts equal filters, as two of them add their score twice. Undefined when there is nothing to change. */
export const planFilters = async (list: FilterList, wanted: readonly FilterRule[]): Promise<FilterChanges | undefined> => {
  const {data: seen} = await list.list();
  const missing = groupBy(wanted, kindKey);
  const isThere = (filter: GlobalFilter): boolean => {
    const rules = missing.get(kindKey(filter)) ?? [];
    const exact = rules.findIndex(rule => ruleKey(rule) === ruleKey(filter));
    const at = exact >= 0 ? exact : rules.findIndex(({authenticated}) => authenticated === undefined);
    if (at >= 0) rules.splice(at, 1);
    return at >= 0;
  };
  const remove = seen.filter(filter => !isThere(filter));
  const add = sortedRules([...missing.values()].flat());
  return remove.length + add.length > 0 ? {seen, add, remove} : undefined;
};

/** Filters have no ETag, so they are read again: a concurrent change must not be lost. Every request that changes something is a `step`. */
export const changeFilters = async (
  list: FilterList,
  {seen, add, remove}: FilterChanges,
  step: <T>(change: Promise<T>) => Promise<T>,
): Promise<void> => {
  const {data: now} = await list.list();
  if (identityOf(now) !== identityOf(seen))
    throw new CliError('precondition_failed', 'its mail filters have changed since they were read', {
      hint: 'somebody changed them meanwhile; run the same command again',
    });
  const adding = async () => {
    for (const rule of add) await step(list.add(rule));
  };
  const removing = async () => {
    for (const {id} of remove) await step(list.remove(id));
  };
  // Adds before it removes, if the limit allows: both rules for a moment are better than none.
  const halves = seen.length + add.length > maxFilters ? [removing, adding] : [adding, removing];
  for (const half of halves) await half();
};

const identityOf = (filters: readonly GlobalFilter[]): string =>
  JSON.stringify(filters.map(filter => [filter.id, ruleKey(filter)]).sort(([a], [b]) => Number(a) - Number(b)));
