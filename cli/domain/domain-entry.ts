// Domain as `domain export` writes it and `domain apply` reads it: its settings and filters, without ids and times.
import {ascending} from '../../shared/collections.ts';
import type {FieldFault} from '../../shared/fault.ts';
import {letsIn, maxFilters} from '../../shared/filter-rules.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import type {Rules} from '../command-line/rules.ts';
import {isMapping, type Path, type ReportFault, reportUnknownMembers} from '../files/text-file.ts';
import {ruleNames} from '../filter/filter-fields.ts';
import type {Settings} from './domain-fields.ts';

/** A mail filter in the form that is stored. Without `authenticated` it is that of the filter that is there already. */
export type FilterRule = Pick<MailFilter, Exclude<(typeof ruleNames)[number], 'authenticated'>> & {
  authenticated?: boolean | undefined;
};

/** The member of the file with the filters for all domains. No domain has this name. */
export const allDomains = 'all_domains';

export interface DomainEntry {
  name: string;
  /** The settings that the file contains. */
  settings: Partial<Settings>;
  /** Undefined when the file does not mention them. */
  filters: FilterRule[] | undefined;
}

/** Filters that keep mail out need no authentication. */
const ruleOf = (filter: FilterRule): FilterRule => {
  const shown = ruleNames.filter(name => name !== 'authenticated' || (letsIn(filter) && filter.authenticated !== undefined));
  return Object.fromEntries(shown.map(name => [name, filter[name]])) as unknown as FilterRule;
};

/** Equal exactly for filters with the same members; filters for the same thing stand together in its order. */
export const ruleKey = (rule: FilterRule): string => {
  const {authenticated} = ruleOf(rule);
  return `${kindKey(rule)}${authenticated === undefined ? '' : ` ${authenticated}`}`;
};

/** The same without `authenticated`. */
export const kindKey = ({match, header, pattern, action, score, comment}: FilterRule): string =>
  JSON.stringify([match, header, pattern, action, score, comment]);

/** In a stable order: it means nothing to the node, but must not change between two exports. */
export const sortedRules = (filters: readonly FilterRule[]): FilterRule[] =>
  filters.map(ruleOf).sort((a, b) => ascending(ruleKey(a), ruleKey(b)));

export const readRules = (value: unknown, path: Path, {rules, reportFault}: Reading): FilterRule[] => {
  if (!Array.isArray(value)) {
    reportFault(path, 'must be a list, [] for none');
    return [];
  }
  if (value.length > maxFilters) {
    reportFault(path, `must have at most ${maxFilters} entries`);
    return [];
  }
  return value.flatMap((rule: unknown, at) => readRule(rule, [...path, at], {rules, reportFault}) ?? []);
};

export interface Reading {
  rules: Rules;
  reportFault: ReportFault;
}

const readRule = (value: unknown, path: Path, {rules, reportFault}: Reading): FilterRule | undefined => {
  if (!isMapping(value)) {
    reportFault(path, 'must be a mapping with action, match and pattern');
    return undefined;
  }
  reportUnknownMembers(value, ruleNames, path, reportFault);
  const {data, faults} = rules.filter(onlyMembers(value, ruleNames));
  reportFaults(faults, path, reportFault);
  return data && {...data, score: withPlainZero(data.score)};
};

export const onlyMembers = (value: Record<string, unknown>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.filter(name => Object.hasOwn(value, name)).map(name => [name, value[name]]));

export const reportFaults = (faults: readonly FieldFault[], path: Path, reportFault: ReportFault): void => {
  for (const fault of faults) reportFault([...path, ...fault.path.split('.')], fault.detail);
};

/** -0 is 0 on the way to the node. */
export const withPlainZero = <T>(value: T): T | 0 => (value === 0 ? 0 : value);
