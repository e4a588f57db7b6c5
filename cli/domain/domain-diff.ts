// Changes that `domain apply` plans, for people and for programs.

import {letsIn} from '../../shared/filter-rules.ts';
import {safeLine} from '../../shared/safe-text.ts';
import {paint, type Tone} from '../output/column.ts';
import {type FilterRule, sortedRules} from './domain-entry.ts';
import {domainFields, type SettingName} from './domain-fields.ts';
import type {DomainChange, SettingChange} from './domain-plan.ts';
import type {FilterChanges} from './filter-plan.ts';

const tones: Record<string, Tone> = {'+': 'good', '~': 'warn', '-': 'bad'};

/** A line per domain that changes, then a line per setting and filter of it. */
export const renderDomainDiff = (changes: readonly DomainChange[], isColour: boolean): string =>
  changes
    .flatMap(linesOf)
    .map(([sign, indent, text]) => {
      const line = `${indent}${sign} ${safeLine(text)}`;
      return `${isColour ? paint(line, tones[sign] ?? 'warn') : line}\n`;
    })
    .join('');

type Line = [sign: '+' | '~' | '-', indent: string, text: string];

const linesOf = (change: DomainChange): Line[] => {
  const inner = '    ';
  switch (change.kind) {
    case 'unchanged':
      return [];
    case 'created':
      return [
        ['+', '', change.name],
        ...change.settings.map(({name, to}): Line => ['+', inner, `${name}: ${valueText(name, to)}`]),
        ...change.filters.map((rule): Line => ['+', inner, ruleText(rule)]),
      ];
    case 'updated':
      return [
        ['~', '', change.name],
        ...change.settings.map(
          ({name, from, to}): Line => ['~', inner, `${name}: ${valueText(name, from)} -> ${valueText(name, to)}`],
        ),
        ...filterLines(change.filters, inner),
      ];
    case 'refiltered':
      return [['~', '', change.name], ...filterLines(change.filters, inner)];
    case 'deleted':
      return [['-', '', `${change.name} with its DKIM keys and mail filters`]];
    default:
      return change satisfies never;
  }
};

const filterLines = (filters: FilterChanges | undefined, indent: string): Line[] => [
  ...(filters?.remove ?? []).map((rule): Line => ['-', indent, ruleText(rule)]),
  ...(filters?.add ?? []).map((rule): Line => ['+', indent, ruleText(rule)]),
];

/** As JSON, so that a text and a number differ. */
const valueText = (name: SettingName, value: unknown): string => {
  const {text} = domainFields[name];
  if (text) return text(value) || 'none';
  if (Array.isArray(value)) return value.length > 0 ? value.join(', ') : 'none';
  return typeof value === 'string' && /^[a-z]+$/.test(value) ? value : JSON.stringify(value);
};

const ruleText = (rule: FilterRule): string => {
  const {action, match, header, pattern, score, comment} = rule;
  const doing = action === 'score' ? `score ${score}` : action;
  const what = match === 'header' ? `header ${header}:` : match;
  const unless = letsIn(rule) && rule.authenticated === false ? ', not authenticated' : '';
  return `filter: ${doing} ${what} ${pattern}${unless}${comment === null ? '' : ` (${comment})`}`;
};

/** For JSON: the names of the changes, with the values before and after. */
export const changeRecord = (change: DomainChange) => ({
  domain: change.name,
  change: change.kind === 'refiltered' ? ('updated' as const) : change.kind,
  fields: fieldsOf(change),
});

interface FieldRecord {
  name: string;
  from: unknown;
  to: unknown;
}

const fieldsOf = (change: DomainChange): FieldRecord[] => {
  const ofSettings = (settings: readonly SettingChange[]): FieldRecord[] =>
    settings.map(({name, from = null, to}) => ({name, from, to}));
  if (change.kind === 'created')
    return [
      ...ofSettings(change.settings),
      ...(change.filters.length > 0 ? [{name: 'filters', from: null, to: change.filters}] : []),
    ];
  if (change.kind === 'refiltered') return [filtersRecord(change.filters)];
  if (change.kind !== 'updated') return [];
  return [...ofSettings(change.settings), ...(change.filters ? [filtersRecord(change.filters)] : [])];
};

const filtersRecord = ({seen, add, remove}: FilterChanges): FieldRecord => ({
  name: 'filters',
  from: sortedRules(seen),
  to: sortedRules([...seen.filter(filter => !remove.includes(filter)), ...add]),
});
