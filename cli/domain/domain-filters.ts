import type {Command} from 'commander';
import {addWholeOption, wholeNumber} from '../command-line/option-values.ts';
import {quoted} from '../command-line/typed-words.ts';
import {addFilterOptions, addingCommand, type FilterFlags, filterOf, mailFilters} from '../filter/mail-filters.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Session} from '../session.ts';
import {findDomainId} from './find-domain.ts';

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

  addFilterOptions(session.prints(filters.command('add'), mailFilters))
    .description('add a mail filter: one action, one thing to match')
    .argument('<domain>', 'name or id')
    .addHelpText('after', addHelp)
    .action(async (nameOrId: string, flags: FilterFlags) => {
      const filter = filterOf(flags, 'mfctl domain filters add --help');
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
      if (removed)
        session.printer().note(`to add it again: ${addingCommand(`mfctl domain filters add ${quoted(nameOrId)}`, removed)}`);
    });
};

const addHelp = `
Examples:
  mfctl domain filters add example.com --block --sender-domain spam.example
  mfctl domain filters add example.com --score -3 --header 'List-Id: *news.example*' --comment 'our newsletter'`;
