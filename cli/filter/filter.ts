// Commands `filter`: the mail filters for all domains.
import type {Command} from 'commander';
import {addWholeOption, wholeNumber} from '../command-line/option-values.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Session} from '../session.ts';
import {addFilterOptions, addingCommand, type FilterFlags, filterOf, globalFilters} from './mail-filters.ts';

export const addGlobalFilterCommands = (program: Command, session: Session): void => {
  const filters = program.command('filter').description('manage the mail filters for all domains');

  addWholeOption(addSortOption(session.prints(filters.command('list'), globalFilters)))
    .description('list the mail filters for all domains')
    .action(async (flags: SortFlag) => {
      const sorter = createSorter(globalFilters, flags);
      const client = await session.client();
      const {data} = await client.filters.list();
      session.printer().list(sorter(data), globalFilters);
    });

  addFilterOptions(session.prints(filters.command('add'), globalFilters))
    .description('add a mail filter for all domains: one action, one thing to match')
    .addHelpText('after', addHelp)
    .action(async (flags: FilterFlags) => {
      const filter = filterOf(flags, 'mfctl filter add --help');
      const client = await session.client();
      const {data} = await client.filters.add(filter);
      session.printer().record(data, globalFilters);
    });

  filters
    .command('remove')
    .description('remove a mail filter for all domains, and say how to add it again')
    .argument('<id>', 'as filter list shows it', wholeNumber)
    .addHelpText('after', '\nExample:\n  mfctl filter remove 1000000001')
    .action(async (id: number) => {
      const client = await session.client();
      const {data} = await client.filters.list();
      await client.filters.remove(id);
      session.printer().done(`removed filter ${id}`);
      const removed = data.find(filter => filter.id === id);
      if (removed) session.printer().note(`to add it again: ${addingCommand('mfctl filter add', removed)}`);
    });
};

const addHelp = `
It is for mail to every domain, including domains that are created later. If a filter of the domain is equally specific, that one
decides.

Examples:
  mfctl filter add --block --sender-domain spam.example
  mfctl filter add --score 5 --subject '*crypto*' --comment 'wave of March'`;
