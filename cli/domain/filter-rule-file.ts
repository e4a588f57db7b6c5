// Mail filters of a domain in the file of `domain apply`, in the form that the node stores.
import {
  canonicalPattern,
  filterActions,
  filterMatches,
  headerName,
  maxCommentChars,
  maxFilters,
  maxPatternChars,
  maxPoints,
  patternFault,
} from '../../shared/filter-rules.ts';
import {isMapping, labelFault, type Path, type ReportFault, reportUnknownMembers} from '../files/file-checks.ts';
import {type FilterRule, ruleNames} from './domain-entry.ts';

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
};

const canonical = ({action, match, header, pattern, score, comment}: FilterRule): FilterRule => ({
  action,
  match,
  header,
  pattern: canonicalPattern(match, pattern.trim()),
  score: score === 0 ? 0 : score,
  comment: comment?.trim() ?? null,
});
