// Command `quarantine list`, with the notes on lists that are partial or empty.
import type {Command} from 'commander';
import {canonicalDomain} from '../../shared/domain-name.ts';
import type {HeldMail, Summary, SummaryGroup} from '../../shared/held-mail.ts';
import type {Answer, Client, Query} from '../client/client.ts';
import {addPageOptions, type PageFlags} from '../command-line/option-values.ts';
import {CliError, exitCodes} from '../errors.ts';
import {briefTimeText, countText, plural, sizeText, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import {type ListPage, notePage, printAll, warnOfPartialList} from '../output/print-all.ts';
import type {Printer} from '../output/printer.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Listed} from '../output/table.ts';
import type {Session} from '../session.ts';
import {heldMails} from './held-mail-columns.ts';
import {heldMailPages} from './held-mail-pages.ts';
import {addQueryOptions, type HoldQuery, parametersOf, type QueryFlags, queryOf} from './hold-query.ts';

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
      if (answer.data.count === 0) await reportUnknownFilter(client, filter, session.printer());
      const summary = {...answer.data, groups: [...sorter(answer.data.groups)]};
      printSummary(session, summary, noneOf(answer, filter, 'no held mail'));
      reportPartial(session, answer, {strict});
    });
};

const listPage = async (session: Session, {limit, offset, strict, sort, ...filter}: ListFlags): Promise<void> => {
  const sorter = createSorter(heldMails, {sort});
  const client = await session.client();
  const query = {...parametersOf(queryOf(filter), Date.now()), strict, limit, offset};
  const answer = await askStrictly(client.quarantine.list(query), {strict});
  if ((answer.totalCount ?? answer.data.length) === 0) await reportUnknownFilter(client, filter, session.printer());
  session.printer().list(sorter(answer.data), {...heldMails, none: noneOf(answer, filter, 'no held mail')});
  notePage(session, answer, {offset, sort, noun: 'held mails'});
  reportPartial(session, answer, {strict});
};

/** What to say of an empty list: a node that is silent may hold mail. */
export const noneOf = (
  {unreachableNodes}: Pick<Answer<unknown>, 'unreachableNodes'>,
  {node}: Pick<HoldQuery, 'node'>,
  none: string,
): string => (node !== undefined && unreachableNodes.includes(node) ? `what ${node} holds is not known` : none);

const listAll = async (session: Session, {strict, sort, ...filter}: SummaryFlags): Promise<void> => {
  const sorter = createSorter(heldMails, {sort});
  const client = await session.client();
  const pages = pagesOf(client, {...parametersOf(queryOf(filter), Date.now()), strict});
  const all = printAll(session, heldMails, {
    pages,
    sorter: sort === undefined ? undefined : sorter,
    async whenEmpty(answer) {
      await reportUnknownFilter(client, filter, session.printer());
      return noneOf(answer, filter, 'no held mail');
    },
  });
  const printed = await askStrictly(all, {strict});
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

const printSummary = (session: Session, summary: Summary, none: string): void => {
  const printer = session.printer();
  printer.list(summary.groups, {...summaryGroups, none}, {value: summary});
  if (summary.count > 0)
    printer.note(
      `${plural(summary.count, 'held mail')}, ${sizeText(summary.size_bytes)}, the oldest from ${timeText(summary.oldest_arrived_at)}`,
    );
};

export interface StrictFlag {
  strict?: boolean | undefined;
}

export const addStrictOption = (command: Command): Command => command.option('--strict', 'fail when a node does not answer');

/** With `--strict` a missing node fails the whole list, with the error of a partial list and not of an unreachable node. */
export const askStrictly = async <T>(asking: Promise<T>, {strict}: StrictFlag): Promise<T> => {
  try {
    return await asking;
  } catch (error) {
    if (!strict || !(error instanceof CliError) || !['node_unreachable', 'unavailable'].includes(error.code)) throw error;
    throw error.with({exitCode: exitCodes.partial});
  }
};

export const reportPartial = (
  session: Session,
  answer: Pick<Answer<unknown>, 'unreachableNodes'>,
  {strict}: StrictFlag,
): void => {
  if (strict && answer.unreachableNodes.length > 0) throw partialList(answer.unreachableNodes);
  warnOfPartialList(session, answer);
};

export const partialList = (unreachableNodes: readonly string[]): CliError =>
  new CliError('partial_list', `the list is incomplete: ${unreachableNodes.join(', ')} did not answer`, {
    exitCode: exitCodes.partial,
    hint: 'mfctl cluster status',
  });

/**
 * Warns about a domain that does not exist; this is not a failure, as mail of a deleted domain may still be held. Rejects for a node that does not
 * exist. Does nothing with a key that cannot see all domains and nodes.
 */
export const reportUnknownFilter = async (
  client: Pick<Client, 'me' | 'domains' | 'cluster'>,
  {domain, node}: Pick<HoldQuery, 'domain' | 'node'>,
  {warn}: Pick<Printer, 'warn'>,
): Promise<void> => {
  if (domain === undefined && node === undefined) return;
  const me = await ifAnswered(client.me());
  // A domain-admin key may read domains too, but sees only its own.
  if (!me?.permissions.includes('domains:read') || !me.permissions.includes('cluster:read')) return;

  const domains = domain === undefined ? undefined : await ifAnswered(client.domains.list());
  if (domains?.every(({name}) => name !== canonicalDomain(domain ?? '')))
    warn(`there is no domain ${domain}; mfctl domain list shows the domains`);
  const status = node === undefined ? undefined : await ifAnswered(client.cluster.status());
  if (status?.peers.every(({node_id}) => node_id !== node))
    throw new CliError('unknown_node', `there is no node ${node}`, {exitCode: exitCodes.notFound, hint: 'mfctl cluster status'});
};

/** Undefined on failure, as the command itself already has its answer. */
const ifAnswered = async <T>(asking: Promise<Answer<T>>): Promise<T | undefined> => {
  try {
    return (await asking).data;
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
};
