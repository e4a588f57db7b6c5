import {type Command, Option} from 'commander';
import {letsIn} from '../../shared/filter-rules.ts';
import type {CreateMailFilter, MailFilter} from '../../shared/mail-filter.ts';
import {addWholeOption, decimal, wholeNumber} from '../command-line/option-values.ts';
import {quoted} from '../command-line/typed-words.ts';
import {usageError} from '../errors.ts';
import {dateText, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Listed, Shown} from '../output/table.ts';
import type {Session} from '../session.ts';
import {findDomainId} from './find-domain.ts';

interface FilterFlags {
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

const columns: Column<MailFilter>[] = [
  {title: 'ID', cell: filter => filter.id, align: 'right'},
  {title: 'ACTION', cell: filter => filter.action},
  {title: 'SCORE', cell: filter => filter.score, align: 'right'},
  {title: 'MATCH', cell: filter => matchText(filter)},
  {title: 'PATTERN', cell: filter => filter.pattern, isFlexible: true},
  {title: 'FROM', cell: filter => fromText(filter), dropRank: 2},
  {title: 'COMMENT', cell: filter => filter.comment, isFlexible: true},
  {title: 'CREATED', cell: filter => timeText(filter.created_at), brief: filter => dateText(filter.created_at), dropRank: 1},
];

const mailFilters: Listed<MailFilter> & Shown<MailFilter> = {
  fields: ['id', 'domain_id', 'action', 'match', 'header', 'pattern', 'score', 'comment', 'authenticated', 'created_at'],
  nameOf: ({id}) => String(id),
  columns,
  details: filter => [
    ['ID', filter.id],
    ['Action', filter.action],
    ['Score', filter.score],
    ['Match', matchText(filter)],
    ['Pattern', filter.pattern],
    ['From', fromText(filter)],
    ['Comment', filter.comment],
    ['Created', timeText(filter.created_at)],
  ],
  isShort: true,
  none: 'no mail filters',
};

export const addFilterCommands = (domain: Command, session: Session): void => {
  const filters = domain.command('filters').description('manage the mail filters of a domain');

  addWholeOption(addSortOption(session.prints(filters.command('list'), mailFilters)))
    .description('list the mail filters of a domain')
    .argument('<domain>', 'name or id')
    .action(async (nameOrId: string, flags: SortFlag) => {
      const sorter = createSorter(mailFilters, flags);
      const client = await session.client();
      const {data} = await client.domains.filters(await findDomainId(client, nameOrId));
      session.printer().list(sorter(data), mailFilters);
    });

  session
    .prints(filters.command('add'), mailFilters)
    .description('add a mail filter: one action, one thing to match')
    .argument('<domain>', 'name or id')
    .addOption(new Option('--allow', 'deliver what matches').conflicts(['block', 'score']))
    .addOption(new Option('--block', 'refuse what matches').conflicts(['allow', 'score']))
    .option('--score <number>', 'add this to the score of what matches, negative to lower it', decimal)
    .option('--sender <address>', 'from this address')
    .option('--sender-domain <domain>', 'from this domain or one below it')
    .option('--subject <pattern>', 'with such a subject; * is any text, ? one character')
    .option('--header <name: pattern>', 'with such a header')
    .option('--no-authenticated', 'with --allow or a negative score: match mail whose sender is not verified by SPF or DKIM, too')
    .option('--comment <text>', 'why the filter is there')
    .addHelpText('after', addHelp)
    .action(async (nameOrId: string, flags: FilterFlags) => {
      const filter = filterOf(flags);
      const client = await session.client();
      const {data} = await client.domains.addFilter(await findDomainId(client, nameOrId), filter);
      session.printer().record(data, mailFilters);
    });

  filters
    .command('remove')
    .description('remove a mail filter, and say how to add it again')
    .argument('<domain>', 'name or id')
    .argument('<id>', 'as filters list shows it', wholeNumber)
    .addHelpText('after', '\nExample:\n  mfctl domain filters remove example.com 1000000001')
    .action(async (nameOrId: string, id: number) => {
      const client = await session.client();
      const domainId = await findDomainId(client, nameOrId);
      const {data} = await client.domains.filters(domainId);
      await client.domains.removeFilter(domainId, id);
      session.printer().done(`removed filter ${id}`);
      const removed = data.find(filter => filter.id === id);
      if (removed) session.printer().note(`to add it again: ${addingCommand(nameOrId, removed)}`);
    });
};

/** The options of `add` for this filter. */
const addingCommand = (nameOrId: string, filter: MailFilter): string => {
  const {action, match, header, pattern, score, comment, authenticated} = filter;
  return [
    'mfctl domain filters add',
    quoted(nameOrId),
    action === 'score' ? `--score ${score}` : `--${action}`,
    `--${match.replace('_', '-')}`,
    quoted(match === 'header' ? `${header}: ${pattern}` : pattern),
    ...(letsIn(filter) && !authenticated ? ['--no-authenticated'] : []),
    ...(comment === null ? [] : ['--comment', quoted(comment)]),
  ].join(' ');
};

const addHelp = `
Examples:
  mfctl domain filters add example.com --block --sender-domain spam.example
  mfctl domain filters add example.com --score -3 --header 'List-Id: *news.example*' --comment 'our newsletter'`;

type Match = Pick<CreateMailFilter, 'match' | 'header' | 'pattern'>;

const filterOf = (flags: FilterFlags): CreateMailFilter => {
  const matches = matchesOf(flags);
  const [match] = matches;
  if (match === undefined || matches.length > 1)
    throw usageError(
      'name one thing to match: --sender, --sender-domain, --subject or --header',
      'mfctl domain filters add --help',
    );
  return {...actionOf(flags), ...match, comment: flags.comment ?? null, ...(!flags.authenticated && {authenticated: false})};
};

const actionOf = ({allow, block, score}: FilterFlags): Pick<CreateMailFilter, 'action' | 'score'> => {
  if (allow) return {action: 'allow', score: null};
  if (block) return {action: 'block', score: null};
  if (score !== undefined) return {action: 'score', score};
  throw usageError('name an action: --allow, --block or --score', 'mfctl domain filters add --help');
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
const fromText = (filter: MailFilter): string | null => {
  if (!letsIn(filter)) return null;
  return filter.authenticated ? 'authenticated' : 'anybody';
};

const matchText = ({match, header}: MailFilter): string => (match === 'header' ? `header ${header}` : match.replace('_', ' '));
