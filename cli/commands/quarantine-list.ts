import type {Command} from 'commander';
import type {HeldMail, Summary, SummaryGroup} from '../../shared/held-mail.ts';
import {
  addFilterOptions,
  addStrictOption,
  askStrictly,
  type MailFilter,
  mailQuery,
  reportPartial,
  type StrictFlag,
} from '../mail/mail-filter.ts';
import {pageLimit, wholeNumber} from '../option-values.ts';
import {briefTimeText, countText, plural, sizeText, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import {heldMails} from '../output/held-mail-columns.ts';
import {notePage} from '../output/page-notes.ts';
import type {Listed} from '../output/resource.ts';
import type {Session} from '../session.ts';

interface SummaryFlags extends MailFilter, StrictFlag {}

interface ListFlags extends SummaryFlags {
  limit?: number;
  offset?: number;
}

const groupColumns: Column<SummaryGroup>[] = [
  {title: 'DOMAIN', cell: group => group.domain, isFlexible: true},
  {title: 'REASON', cell: group => group.reason},
  {title: 'NODE', cell: group => group.node_id, dropRank: 1},
  {title: 'COUNT', cell: group => countText(group.count), align: 'right'},
  {title: 'SIZE', cell: group => sizeText(group.size_bytes), align: 'right'},
  {title: 'OLDEST', cell: group => timeText(group.oldest_arrived_at), brief: group => briefTimeText(group.oldest_arrived_at)},
];

const summaryGroups: Listed<SummaryGroup> = {
  fields: ['domain', 'reason', 'node_id', 'count', 'size_bytes', 'oldest_arrived_at'],
  answerFields: ['count', 'size_bytes', 'oldest_arrived_at', 'groups'],
  nameOf: ({domain, reason, node_id}) => `${domain}/${reason}/${node_id}`,
  columns: groupColumns,
  none: 'no held mail',
};

export const addListCommands = (quarantine: Command, session: Session): void => {
  const list = session.prints(quarantine.command('list'), heldMails).description('list held mail of all nodes, newest first');
  addStrictOption(addFilterOptions(list))
    .option('--limit <number>', 'at most so many, up to 1000 (default: 100)', pageLimit)
    .option('--offset <number>', 'leave out so many at the beginning', wholeNumber)
    .addHelpText('after', listHelp)
    .action(async ({limit, offset, strict, ...filter}: ListFlags) => {
      const client = await session.client();
      const query = {...mailQuery(filter), strict, limit, offset};
      const answer = await askStrictly(client.send<HeldMail[]>({path: 'mail/quarantine', query}), {strict});
      session.printer().list(answer.data, heldMails);
      notePage(session, answer, offset, 'held mails');
      reportPartial(session, answer, {strict});
    });

  const summary = session
    .prints(quarantine.command('summary'), summaryGroups)
    .description('count held mail by domain, reason and node');
  addStrictOption(addFilterOptions(summary))
    .addHelpText('after', '\nExample:\n  mfctl quarantine summary --since 1d')
    .action(async ({strict, ...filter}: SummaryFlags) => {
      const client = await session.client();
      const query = {...mailQuery(filter), strict};
      const answer = await askStrictly(client.send<Summary>({path: 'mail/quarantine/summary', query}), {strict});
      printSummary(session, answer.data);
      reportPartial(session, answer, {strict});
    });
};

const listHelp = `
Examples:
  mfctl quarantine list --domain example.com --since 2h --min-score 10
  mfctl quarantine list --sender '<>' --reason spam -o ndjson
  mfctl quarantine list --subject invoice | grep -v example.org | mfctl quarantine release -`;

const printSummary = (session: Session, summary: Summary): void => {
  const printer = session.printer();
  printer.list(summary.groups, summaryGroups, {value: summary});
  if (summary.count > 0)
    printer.note(
      `${plural(summary.count, 'held mail')}, ${sizeText(summary.size_bytes)}, the oldest from ${timeText(summary.oldest_arrived_at)}`,
    );
};
