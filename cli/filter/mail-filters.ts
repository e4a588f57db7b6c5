// Options and columns of mail filters, those of a domain and those for all domains.
import {type Command, Option} from 'commander';
import {letsIn} from '../../shared/filter-rules.ts';
import type {CreateMailFilter, GlobalFilter, MailFilter} from '../../shared/mail-filter.ts';
import {decimal} from '../command-line/option-values.ts';
import {quoted} from '../command-line/typed-words.ts';
import {usageError} from '../errors.ts';
import {dateText, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import type {Detail, Listed, Shown} from '../output/table.ts';

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

const columns: Column<GlobalFilter>[] = [
  {title: 'ID', cell: filter => filter.id, align: 'right'},
  {title: 'ACTION', cell: filter => filter.action},
  {title: 'SCORE', cell: filter => filter.score, align: 'right'},
  {title: 'MATCH', cell: filter => matchText(filter)},
  {title: 'PATTERN', cell: filter => filter.pattern, isFlexible: true},
  {title: 'FROM', cell: filter => fromText(filter), dropRank: 2},
  {title: 'COMMENT', cell: filter => filter.comment, isFlexible: true},
  {title: 'CREATED', cell: filter => timeText(filter.created_at), brief: filter => dateText(filter.created_at), dropRank: 1},
];

const fields = ['action', 'match', 'header', 'pattern', 'score', 'comment', 'authenticated', 'created_at'];

const shown = {
  nameOf: ({id}: GlobalFilter) => String(id),
  columns,
  details: (filter: GlobalFilter): Detail[] => [
    ['ID', filter.id],
    ['Action', filter.action],
    ['Score', filter.score],
    ['Match', matchText(filter)],
    ['Pattern', filter.pattern],
    ['From', fromText(filter)],
    ['Comment', filter.comment],
    ['Created', timeText(filter.created_at)],
  ],
  isShort: true as const,
  none: 'no mail filters',
};

export const globalFilters: Listed<GlobalFilter> & Shown<GlobalFilter> = {...shown, fields: ['id', ...fields]};

/** Of a domain. */
export const mailFilters: Listed<MailFilter> & Shown<MailFilter> = {...shown, fields: ['id', 'domain_id', ...fields]};

export const addFilterOptions = (add: Command): Command =>
  add
    .addOption(new Option('--allow', 'deliver what matches').conflicts(['block', 'score']))
    .addOption(new Option('--block', 'refuse what matches').conflicts(['allow', 'score']))
    .option('--score <number>', 'add this to the score of what matches, negative to lower it', decimal)
    .option('--sender <address>', 'from this address')
    .option('--sender-domain <domain>', 'from this domain or one below it')
    .option('--subject <pattern>', 'with such a subject; * is any text, ? one character')
    .option('--header <name: pattern>', 'with such a header')
    .option('--no-authenticated', 'with --allow or a negative score: match mail whose sender is not verified by SPF or DKIM, too')
    .option('--comment <text>', 'why the filter is there');

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
  const matches = matchesOf(flags);
  const [match] = matches;
  if (match === undefined || matches.length > 1)
    throw usageError('name one thing to match: --sender, --sender-domain, --subject or --header', help);
  return {
    ...actionOf(flags, help),
    ...match,
    comment: flags.comment ?? null,
    ...(!flags.authenticated && {authenticated: false}),
  };
};

const actionOf = ({allow, block, score}: FilterFlags, help: string): Pick<CreateMailFilter, 'action' | 'score'> => {
  if (allow) return {action: 'allow', score: null};
  if (block) return {action: 'block', score: null};
  if (score !== undefined) return {action: 'score', score};
  throw usageError('name an action: --allow, --block or --score', help);
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

/** Whose mail a filter lets in. */
export const fromText = (filter: Pick<CreateMailFilter, 'action' | 'score' | 'authenticated'>): string | null => {
  if (!letsIn(filter)) return null;
  return filter.authenticated ? 'authenticated' : 'anybody';
};

const matchText = ({match, header}: GlobalFilter): string => (match === 'header' ? `header ${header}` : match.replace('_', ' '));
