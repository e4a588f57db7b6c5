import type {Command} from 'commander';
import type {HeldMail, Summary, SummaryGroup} from '../../shared/held-mail.ts';
import type {Client, Query} from '../client/client.ts';
import {addPageOptions, type PageFlags} from '../command-line/option-values.ts';
import {briefTimeText, countText, plural, sizeText, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import {notePage, noteSortedPage} from '../output/page-notes.ts';
import {type ListPage, printAll} from '../output/print-all.ts';
import type {Listed} from '../output/resource.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Session} from '../session.ts';
import {heldMails} from './held-mail-columns.ts';
import {heldMailPages} from './held-mail-pages.ts';
import {parametersOf} from './hold-query.ts';
import {addQueryOptions, type QueryFlags, queryOf} from './query-flags.ts';
import {addStrictOption, askStrictly, reportPartial, type StrictFlag} from './strict-list.ts';
import {reportUnknownFilter} from './unknown-filter.ts';

interface SummaryFlags extends QueryFlags, StrictFlag, SortFlag {}

interface ListFlags extends SummaryFlags, PageFlags {}

const groupColumns: Column<SummaryGroup>[] = [
  {title: 'DOMAIN', cell: group => group.domain, isFlexible: true},
  {title: 'REASON', cell: group => group.reason},
  {title: 'NODE', cell: group => group.node_id, dropRank: 1},
  {title: 'COUNT', cell: group => countText(group.count), align: 'right'},
  {title: 'SIZE', cell: group => sizeText(group.size_bytes), sortBy: group => group.size_bytes, align: 'right'},
  {title: 'OLDEST', cell: group => timeText(group.oldest_arrived_at), brief: group => briefTimeText(group.oldest_arrived_at)},
];

const summaryGroups: Listed<SummaryGroup> = {
  fields: ['domain', 'reason', 'node_id', 'count', 'size_bytes', 'oldest_arrived_at'],
  answerFields: ['count', 'size_bytes', 'oldest_arrived_at', 'groups'],
  nameOf: ({domain, reason, node_id}) => `${domain}/${reason}/${node_id}`,
  columns: groupColumns,
  isShort: true,
  none: 'no held mail',
};

export const addListCommands = (quarantine: Command, session: Session): void => {
  const list = session.prints(quarantine.command('list'), heldMails).description('list held mail of all nodes, newest first');
  addSortOption(addPageOptions(addStrictOption(addQueryOptions(list))))
    .addHelpText('after', listHelp)
    .action(({all, ...flags}: ListFlags) => (all ? listAll(session, flags) : listPage(session, flags)));

  const summary = session
    .prints(quarantine.command('summary'), summaryGroups)
    .description('count held mail by domain, reason and node');
  addSortOption(addStrictOption(addQueryOptions(summary)))
    .addHelpText('after', '\nExample:\n  mfctl quarantine summary --since 1d')
    .action(async ({strict, sort, ...filter}: SummaryFlags) => {
      const sorter = createSorter(summaryGroups, {sort});
      const client = await session.client();
      const query = {...parametersOf(queryOf(filter), Date.now()), strict};
      const answer = await askStrictly(client.quarantine.summary(query), {strict});
      printSummary(session, {...answer.data, groups: [...sorter(answer.data.groups)]});
      if (answer.data.count === 0) await reportUnknownFilter(client, filter, session.printer());
      reportPartial(session, answer, {strict});
    });
};

const listPage = async (session: Session, {limit, offset, strict, sort, ...filter}: ListFlags): Promise<void> => {
  const sorter = createSorter(heldMails, {sort});
  const client = await session.client();
  const query = {...parametersOf(queryOf(filter), Date.now()), strict, limit, offset};
  const answer = await askStrictly(client.quarantine.list(query), {strict});
  session.printer().list(sorter(answer.data), heldMails);
  if ((answer.totalCount ?? answer.data.length) === 0) await reportUnknownFilter(client, filter, session.printer());
  notePage(session, answer, offset, 'held mails');
  noteSortedPage(session, answer, {sort});
  reportPartial(session, answer, {strict});
};

const listAll = async (session: Session, {strict, sort, ...filter}: SummaryFlags): Promise<void> => {
  const sorter = createSorter(heldMails, {sort});
  const client = await session.client();
  const pages = pagesOf(client, {...parametersOf(queryOf(filter), Date.now()), strict});
  const printed = await askStrictly(printAll(session, heldMails, {pages, ...(sort !== undefined && {sorter})}), {strict});
  if (printed.count === 0) await reportUnknownFilter(client, filter, session.printer());
  reportPartial(session, printed, {strict});
};

async function* pagesOf(client: Client, query: Query): AsyncIterable<ListPage<HeldMail>> {
  for await (const {mails: rows, unreachableNodes} of heldMailPages(client, query)) yield {rows, unreachableNodes};
}

const listHelp = `
Examples:
  mfctl quarantine list --domain example.com --since 2h --min-score 10
  mfctl quarantine list --sender '<>' --reason spam -o ndjson
  mfctl quarantine list --all --sort=-score --since 1d
  mfctl quarantine list --subject invoice | grep -v example.org | mfctl quarantine release -`;

const printSummary = (session: Session, summary: Summary): void => {
  const printer = session.printer();
  printer.list(summary.groups, summaryGroups, {value: summary});
  if (summary.count > 0)
    printer.note(
      `${plural(summary.count, 'held mail')}, ${sizeText(summary.size_bytes)}, the oldest from ${timeText(summary.oldest_arrived_at)}`,
    );
};
