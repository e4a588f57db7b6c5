// Mail filters as mfctl knows them, those of a domain and those for all domains: each of their fields is declared once. Their rules are
// the schemas in shared/mail-filter.ts.

import {filterActions, filterMatches, letsIn, newPatternFault, patternFault} from '../../shared/filter-rules.ts';
import type {CreateMailFilter, GlobalFilter, MailFilter} from '../../shared/mail-filter.ts';
import {quoted} from '../../shared/shell-word.ts';
import {inMfctlWords} from '../client/request-failure.ts';
import {givenValues, type TypedField, typedNumber} from '../command-line/field-options.ts';
import {decimal} from '../command-line/option-values.ts';
import {usageError} from '../errors.ts';
import {briefTimeText, dateText, timeText} from '../output/cell-text.ts';
import {columnsOf, detailsOf, type Field} from '../output/field.ts';
import type {Listed, Shown} from '../output/table.ts';

export interface FilterFlags {
  allow?: boolean;
  block?: boolean;
  score?: number;
  sender?: string;
  senderDomain?: string;
  subject?: string;
  header?: string;
  comment?: string;
  authenticated: boolean;
}

/** What makes a filter, in the order of files. */
export const ruleNames = [
  'action',
  'match',
  'header',
  'pattern',
  'score',
  'comment',
  'authenticated',
] as const satisfies (keyof MailFilter)[];

const textOrNull = (text: string): string | null => text.trim() || null;

/** In the order of options, columns and forms. */
export const ruleFields: Readonly<Record<(typeof ruleNames)[number], Field<GlobalFilter> & TypedField<FilterFlags>>> = {
  action: {
    label: 'Action',
    hint: 'allow delivers what matches, block refuses it, score adds to its score',
    choices: filterActions,
    parse: text => text,
    options: [
      {flags: '--allow', description: 'deliver what matches', conflicts: ['block', 'score']},
      {flags: '--block', description: 'refuse what matches', conflicts: ['allow', 'score']},
    ],
    given: ({allow, block, score}) => (allow ? 'allow' : block ? 'block' : score === undefined ? undefined : 'score'),
    cell: ({action}) => action,
    column: {},
    screen: {width: 8, cell: filter => actionText(filter), style: ({action}) => actionStyles[action]},
  },
  score: {
    label: 'Score',
    hint: 'with action score: what is added; negative to lower it',
    parse: text => (text.trim() === '' ? null : typedNumber(text)),
    options: [
      {flags: '--score <number>', description: 'add this to the score of what matches, negative to lower it', parse: decimal},
    ],
    given: ({score = null}) => score,
    cell: ({score}) => score,
    column: {align: 'right'},
  },
  match: {
    label: 'Match',
    hint: 'what the pattern is compared with',
    choices: filterMatches,
    parse: text => text,
    options: [
      {flags: '--sender <address>', description: 'from this address'},
      {flags: '--sender-domain <domain>', description: 'from this domain or one below it'},
      {flags: '--subject <pattern>', description: 'with such a subject; * is any text, ? one character'},
    ],
    given: flags => matchesOf(flags)[0]?.match,
    cell: filter => matchText(filter),
    column: {},
    screen: {width: 14, grow: 1},
  },
  header: {
    label: 'Header',
    hint: 'with match header: its name, such as List-Id',
    parse: textOrNull,
    options: [{flags: '--header <name: pattern>', description: 'with such a header'}],
    given: flags => matchesOf(flags)[0]?.header,
    cell: ({header}) => header,
  },
  pattern: {
    label: 'Pattern',
    hint: 'an address, a domain (with all below it), or text in which * is any text and ? one character',
    parse: text => text.trim(),
    options: [],
    given: flags => matchesOf(flags)[0]?.pattern,
    cell: ({pattern}) => pattern,
    column: {isFlexible: true},
    screen: {width: 24, grow: 3},
  },
  authenticated: {
    label: 'From',
    prompt: 'Authenticated',
    hint: 'with allow or a negative score: only mail whose sender is verified by SPF or DKIM',
    choices: ['yes', 'no'],
    parse: text => text !== 'no',
    options: [
      {
        flags: '--no-authenticated',
        description: 'with --allow or a negative score: match mail whose sender is not verified by SPF or DKIM, too',
      },
    ],
    given: ({authenticated}) => (authenticated ? undefined : false),
    cell: filter => fromText(filter),
    column: {dropRank: 2},
    screen: {width: 13, dropRank: 2},
  },
  comment: {
    label: 'Comment',
    hint: 'why the filter exists',
    parse: textOrNull,
    options: [{flags: '--comment <text>', description: 'why the filter is there'}],
    given: ({comment = null}) => comment,
    cell: ({comment}) => comment,
    column: {isFlexible: true},
    screen: {width: 10, grow: 2},
  },
};

export const filterFields: Readonly<Record<keyof GlobalFilter, Field<GlobalFilter>>> = {
  id: {label: 'ID', cell: ({id}) => id, column: {align: 'right'}},
  ...ruleFields,
  created_at: {
    label: 'Created',
    cell: filter => timeText(filter.created_at),
    column: {brief: filter => dateText(filter.created_at), dropRank: 1},
    screen: {width: 12, dropRank: 1, cell: filter => briefTimeText(filter.created_at)},
  },
};

const shown = {
  nameOf: ({id}: GlobalFilter) => String(id),
  columns: columnsOf(Object.values(filterFields)),
  details: (filter: GlobalFilter) => detailsOf(Object.values(filterFields), filter),
  isShort: true as const,
  none: 'no mail filters',
};

export const globalFilters: Listed<GlobalFilter> & Shown<GlobalFilter> = {
  ...shown,
  fields: ['id', ...ruleNames, 'created_at'],
};

/** Of a domain. */
export const mailFilters: typeof globalFilters = {...shown, fields: ['id', 'domain_id', ...ruleNames, 'created_at']};

/** The command `add`, such as `mfctl filter add`, with the options of this filter. */
export const addingCommand = (add: string, filter: GlobalFilter): string => {
  const {action, match, header, pattern, score, comment, authenticated} = filter;
  return [
    add,
    action === 'score' ? `--score ${score}` : `--${action}`,
    `--${match.replace('_', '-')}`,
    quoted(match === 'header' ? `${header}: ${pattern}` : pattern),
    ...(letsIn(filter) && !authenticated ? ['--no-authenticated'] : []),
    ...(comment === null ? [] : ['--comment', quoted(comment)]),
  ].join(' ');
};

type Match = Pick<CreateMailFilter, 'match' | 'header' | 'pattern'>;

/** `help` is the command that explains the options. */
export const filterOf = (flags: FilterFlags, help: string): CreateMailFilter => {
  if (matchesOf(flags).length !== 1)
    throw usageError('name one thing to match: --sender, --sender-domain, --subject or --header', help);
  const filter = givenValues(ruleFields, flags);
  if (filter.action === undefined) throw usageError('name an action: --allow, --block or --score', help);
  const made = filter as CreateMailFilter;
  // The node checks patterns, too. One of an earlier version takes what IDNA makes another name of.
  const fault = patternFault(made) ?? newPatternFault(made);
  if (fault !== undefined)
    throw usageError(`--${made.match.replace('_', '-')} ${JSON.stringify(made.pattern)} ${inMfctlWords(fault)}`, help);
  return made;
};

const matchesOf = ({sender, senderDomain, subject, header}: FilterFlags): Match[] => [
  ...(sender === undefined ? [] : [{match: 'sender', header: null, pattern: sender} as const]),
  ...(senderDomain === undefined ? [] : [{match: 'sender_domain', header: null, pattern: senderDomain} as const]),
  ...(subject === undefined ? [] : [{match: 'subject', header: null, pattern: subject} as const]),
  ...(header === undefined ? [] : [headerMatch(header)]),
];

const headerMatch = (text: string): Match => {
  const [, header, pattern] = /^([^:]+):\s*(.+)$/.exec(text) ?? [];
  if (header === undefined || pattern === undefined)
    throw usageError(
      `--header ${JSON.stringify(text)} must be 'Name: pattern'`,
      "it looks like --header 'List-Id: *news.example*'",
    );
  return {match: 'header', header, pattern};
};

/** A filter, or what was typed for one. */
export type FilterFacts = Pick<CreateMailFilter, (typeof ruleNames)[number]>;

/** With a glyph: `✓ allow`, `± +3`. */
export const actionText = ({action, score}: Pick<FilterFacts, 'action' | 'score'>): string => {
  if (action === 'score') return `± ${(score ?? 0) > 0 ? '+' : ''}${score ?? 0}`;
  return action === 'allow' ? '✓ allow' : '✗ block';
};

const actionStyles = {allow: 'good', block: 'bad', score: 'warn'} as const;

/** Whose mail a filter lets in. */
export const fromText = (filter: Pick<FilterFacts, 'action' | 'score' | 'authenticated'>): string | null => {
  if (!letsIn(filter)) return null;
  return filter.authenticated ? 'authenticated' : 'anybody';
};

export const matchText = ({match, header}: Pick<FilterFacts, 'match' | 'header'>): string =>
  match === 'header' ? `header ${header ?? ''}` : match.replace('_', ' ');
