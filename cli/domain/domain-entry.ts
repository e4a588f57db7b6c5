// Domain as `domain export` writes it and `domain apply` reads it: its settings and filters, without ids and times.
import {ascending} from '../../shared/collections.ts';
import type {Domain} from '../../shared/domain.ts';
import {
  canonicalPattern,
  filterActions,
  filterMatches,
  headerName,
  letsIn,
  maxCommentChars,
  maxFilters,
  maxPatternChars,
  maxPoints,
  patternFault,
} from '../../shared/filter-rules.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import {isMapping, labelFault, type Path, type ReportFault, reportUnknownMembers} from '../files/text-file.ts';

/** In the order of the file. */
export const settingNames = [
  'direction',
  'active',
  'backend_servers',
  'quarantine_threshold',
  'reject_threshold',
  'dkim_active',
  'dmarc_reporting',
  'tenant_id',
] as const satisfies readonly (keyof Domain)[];
export type SettingName = (typeof settingNames)[number];
export type Settings = Pick<Domain, SettingName>;

const ruleNames = [
  'action',
  'match',
  'header',
  'pattern',
  'score',
  'comment',
  'authenticated',
] as const satisfies readonly (keyof MailFilter)[];
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

export const settingsOf = (domain: Domain): Settings =>
  Object.fromEntries(settingNames.map(name => [name, domain[name]])) as unknown as Settings;

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

export const readRules = (value: unknown, path: Path, reportFault: ReportFault): FilterRule[] => {
  if (!Array.isArray(value)) {
    reportFault(path, 'must be a list, [] for none');
    return [];
  }
  if (value.length > maxFilters) {
    reportFault(path, `must have at most ${maxFilters} entries`);
    return [];
  }
  return value.flatMap((rule: unknown, at) => readRule(rule, [...path, at], reportFault) ?? []);
};

const readRule = (value: unknown, path: Path, reportFault: ReportFault): FilterRule | undefined => {
  if (!isMapping(value)) {
    reportFault(path, 'must be a mapping with action, match and pattern');
    return undefined;
  }
  reportUnknownMembers(value, ruleNames, path, reportFault);
  const {header = null, score = null, comment = null} = value;
  const rule = {...value, header, score, comment} as Record<(typeof ruleNames)[number], unknown>;
  const faults = ruleNames.flatMap(name => {
    const fault = checks[name](rule);
    return fault === undefined ? [] : [[name, fault] as const];
  });
  for (const [name, fault] of faults) reportFault([...path, name], fault);
  return faults.length > 0 ? undefined : canonical(rule as FilterRule);
};

type Unchecked = Record<(typeof ruleNames)[number], unknown>;

const oneOf = (values: readonly unknown[], value: unknown) =>
  values.includes(value) ? undefined : `must be one of ${values.join(', ')}`;

const checks: Record<(typeof ruleNames)[number], (rule: Unchecked) => string | undefined> = {
  action: ({action}) => oneOf(filterActions, action),
  match: ({match}) => oneOf(filterMatches, match),
  header: ({match, header}) => {
    if (match !== 'header') return header === null ? undefined : 'belongs to match header only; remove it';
    return typeof header === 'string' && headerName.test(header) ? undefined : 'must be a header name such as List-Id';
  },
  pattern: ({match, pattern}) =>
    labelFault(pattern, maxPatternChars) ?? patternFault({match, pattern: String(pattern).trim()} as FilterRule),
  score: ({action, score}) => {
    if (action !== 'score') return score === null ? undefined : 'belongs to action score only; remove it';
    const isRight = typeof score === 'number' && Math.abs(score) <= maxPoints;
    return isRight ? undefined : `must be a number from ${-maxPoints} to ${maxPoints} with action score`;
  },
  comment: ({comment}) => (comment === null ? undefined : labelFault(comment, maxCommentChars)),
  authenticated({authenticated, ...rule}) {
    if (authenticated !== undefined && typeof authenticated !== 'boolean') return 'must be true or false';
    if (authenticated !== true || letsIn(rule as FilterRule)) return undefined;
    return 'belongs to filters that let mail in only (action allow, or a negative score); remove it';
  },
};

const canonical = ({action, match, header, pattern, score, comment, authenticated}: FilterRule): FilterRule => ({
  action,
  match,
  header,
  pattern: canonicalPattern(match, pattern.trim()),
  score: score === 0 ? 0 : score,
  comment: comment?.trim() ?? null,
  ...(authenticated !== undefined && {authenticated}),
});
