// Commands `filter` and `domain filters`: the mail filters for all domains, and those of one.
import type {Command} from 'commander';
import {quoted} from '../../shared/shell-word.ts';
import type {Client} from '../client/client.ts';
import {addFieldOptions} from '../command-line/field-options.ts';
import {addWholeOption, wholeNumber} from '../command-line/option-values.ts';
import {pathOf} from '../command-line/typed-words.ts';
import {notFound} from '../errors.ts';
import {noteALabels} from '../output/a-labels.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Session} from '../session.ts';
import {addingCommand, type FilterFlags, filterOf, globalFilters, mailFilters, ruleFields} from './filter-fields.ts';
import {type FilterList, filterList} from './filter-list.ts';

export const addGlobalFilterCommands = (program: Command, session: Session): void =>
  addVerbs(program.command('filter').description('manage the mail filters for all domains'), session, {
    records: globalFilters,
    whose: 'for all domains',
    kind: 'mail filter for all domains',
    addHelp: globalAddHelp,
  });

/** `findId` finds a domain by name or id. */
export const addDomainFilterCommands = (domain: Command, session: Session, findId: FindDomain): void =>
  addVerbs(domain.command('filters').description('manage the mail filters of a domain'), session, {
    records: mailFilters,
    whose: 'of a domain',
    kind: 'mail filter',
    addHelp: domainAddHelp,
    findId,
  });

const globalAddHelp = `
It is for mail to every domain, including domains that are created later. If a filter of the domain is equally specific, that one
decides.

Examples:
  mfctl filter add --block --sender-domain spam.example
  mfctl filter add --score 5 --subject '*crypto*' --comment 'wave of March'`;

const domainAddHelp = `
Examples:
  mfctl domain filters add example.com --block --sender-domain spam.example
  mfctl domain filters add example.com --score -3 --header 'List-Id: *news.example*' --comment 'our newsletter'`;

type FindDomain = (client: Client, nameOrId: string) => Promise<number | string>;

interface Noun {
  records: typeof globalFilters;
  whose: string;
  kind: string;
  addHelp: string;
  /** For the filters of a domain, which is the first argument of each verb. */
  findId?: FindDomain;
}

const addVerbs = (filters: Command, session: Session, {records, whose, kind, addHelp, findId}: Noun): void => {
  const path = ['mfctl', ...pathOf(filters)].join(' ');
  const commandOf = (name: string, domain: string | undefined): string =>
    [path, name, ...(domain === undefined ? [] : [quoted(domain)])].join(' ');
  const verb = (name: string): Command =>
    findId ? filters.command(name).argument('<domain>', 'name or id') : filters.command(name);
  const taking = <Typed extends unknown[]>(run: (domain: string | undefined, ...typed: Typed) => Promise<void>) =>
    findId ? run : (...typed: Typed) => run(undefined, ...typed);
  const open = async (domain: string | undefined): Promise<FilterList> => {
    const client = await session.client();
    return filterList(client, domain === undefined ? undefined : await findId?.(client, domain));
  };

  addWholeOption(addSortOption(session.prints(verb('list'), records)))
    .description(`list the mail filters ${whose}`)
    .action(
      taking(async (domain, flags: SortFlag) => {
        const sorter = createSorter(records, flags);
        const {data} = await (await open(domain)).list();
        session.printer().list(sorter(data), records);
      }),
    );

  const id = [`<id>`, `as ${filters.name()} list shows it`, wholeNumber] as const;

  session
    .prints(verb('show'), records)
    .description(`show a ${kind}`)
    .argument(...id)
    .action(
      taking(async (domain, wanted: number) => {
        const {data} = await (await open(domain)).list();
        const filter = data.find(one => one.id === wanted);
        if (!filter) throw notFound(`there is no filter ${wanted}`, commandOf('list', domain));
        session.printer().record(filter, records);
      }),
    );

  addFieldOptions(session.prints(verb('add'), records), Object.values(ruleFields))
    .description(`add a ${kind}: one action, one thing to match`)
    .addHelpText('after', addHelp)
    .action(
      taking(async (domain, flags: FilterFlags) => {
        const filter = filterOf(flags, `${path} add --help`);
        const {data} = await (await open(domain)).add(filter);
        session.printer().record(data, records);
        const [typed, made] = [filter.pattern, data.pattern].map(text => text.slice(text.lastIndexOf('@') + 1));
        if (data.match.startsWith('sender') && typed && made) noteALabels(session.printer(), typed, made);
      }),
    );

  verb('remove')
    .description(`remove a ${kind}, and say how to add it again`)
    .argument(...id)
    .addHelpText('after', `\nExample:\n  ${path} remove ${findId ? 'example.com ' : ''}1000000001`)
    .action(
      taking(async (domain, unwanted: number) => {
        const list = await open(domain);
        const {data} = await list.list();
        await list.remove(unwanted);
        session.printer().done(`removed filter ${unwanted}`);
        const removed = data.find(({id: one}) => one === unwanted);
        if (removed) session.printer().note(`to add it again: ${addingCommand(commandOf('add', domain), removed)}`);
      }),
    );
};
