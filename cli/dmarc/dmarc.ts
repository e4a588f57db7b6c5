// Commands `dmarc`: what was received for a domain, and the reports to the owners of other domains.
import {type Command, InvalidArgumentError} from 'commander';
import {maxReports} from '../../shared/dmarc-lists.ts';
import type {DmarcReport, DmarcSource} from '../../shared/dmarc-report.ts';
import {canonicalDomain} from '../../shared/domain-name.ts';
import {safeBlock} from '../../shared/safe-text.ts';
import type {Client} from '../client/client.ts';
import {pastMoment} from '../command-line/moment.ts';
import {addPageOptions, type PageFlags} from '../command-line/option-values.ts';
import {CliError} from '../errors.ts';
import {countText, percentText, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import {notePage, pagesOfNewest, printAll, warnOfPartialList} from '../output/print-all.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Listed} from '../output/table.ts';
import type {Session} from '../session.ts';
import {addSourcesCommand} from './dmarc-sources.ts';

const sourceColumns: Column<DmarcSource>[] = [
  {title: 'SOURCE', cell: source => source.source_ip},
  {title: 'MAILS', cell: source => source.count, align: 'right'},
  {title: 'PASS', cell: source => percentText(source.passed, source.count), align: 'right'},
  {title: 'SPF', cell: source => percentText(source.spf_aligned, source.count), align: 'right'},
  {title: 'DKIM', cell: source => percentText(source.dkim_aligned, source.count), align: 'right'},
  {title: 'HELD', cell: source => source.held, align: 'right'},
  {title: 'REJECTED', cell: source => source.rejected, align: 'right'},
];

const sources: Listed<DmarcSource> = {
  fields: ['source_ip', 'count', 'spf_aligned', 'dkim_aligned', 'passed', 'held', 'rejected'],
  nameOf: ({source_ip}) => source_ip,
  columns: sourceColumns,
  none: 'nothing was counted',
};

const reportColumns: Column<DmarcReport>[] = [
  {title: 'DAY', cell: report => report.day},
  {title: 'POLICY DOMAIN', cell: report => report.policy_domain, isFlexible: true},
  {title: 'STATE', cell: report => report.state, tone: report => (report.state === 'given up' ? 'warn' : undefined)},
  {title: 'MAILS', cell: report => report.count, align: 'right'},
  {title: 'ADDRESSES', cell: report => addressesText(report), isFlexible: true},
  {title: 'NODE', cell: report => report.node_id, dropRank: 1},
  {title: 'NEXT', cell: report => timeText(report.next_at), dropRank: 2},
  {title: 'ID', cell: report => report.id, isWideOnly: true},
];

const reports: Listed<DmarcReport> = {
  fields: [
    ...['node_id', 'id', 'day', 'policy_domain', 'state', 'count', 'addresses', 'created_at', 'attempts', 'next_at', 'ended_at'],
  ],
  nameOf: ({id}) => id,
  columns: reportColumns,
  none: 'no reports',
};

/** `dmarc@example.net refused: 550 5.1.1 No such user` */
const addressesText = ({addresses}: DmarcReport): string =>
  addresses
    .map(({address, state, detail}) => (state === 'sent' ? address : `${address} ${state}${detail === '' ? '' : `: ${detail}`}`))
    .join(', ');

export const addDmarcCommands = (program: Command, session: Session): void => {
  const dmarc = program.command('dmarc').description('show who sends mail for a domain, and reports about it');

  session
    .prints(addSortOption(dmarc.command('summary')), sources)
    .description('list the sources of mail for a domain, and how much of it is authenticated')
    .argument('<domain>', 'a domain with dmarc_reporting')
    .option('--since <time>', 'since the day of this time: 2026-03-01, or 7d before now (default: 30d)', pastMoment)
    .addHelpText('after', summaryHelp)
    .action(async (domain: string, {since, sort}: {since?: string} & SortFlag) => {
      const client = await session.client();
      const answer = await client.dmarc.summary({domain, since});
      const {count, passed, source_count, sources: rows} = answer.data;
      session.printer().list(createSorter(sources, {sort})(rows), sources);
      if (rows.length < source_count) session.printer().note(`${countText(rows.length)} of ${countText(source_count)} sources`);
      if (count === 0) await noteUnreported(session, client, domain);
      if (count > 0)
        session.printer().note(`${countText(count)} mails since ${answer.data.since}, ${countText(passed)} pass DMARC`);
      warnOfPartialList(session, answer);
    });

  addSourcesCommand(dmarc, session);

  session
    .prints(addSortOption(addPageOptions(dmarc.command('reports'))), reports)
    .description('list the aggregate reports to the owners of other domains, newest first')
    .action(async ({all, sort, ...page}: PageFlags & SortFlag) => {
      const client = await session.client();
      const sorter = createSorter(reports, {sort});
      if (all) {
        const pages = pagesOfNewest({ask: client.dmarc.reports, nameOf: reports.nameOf, maxRows: maxReports});
        const printed = await printAll(session, reports, {pages, sorter: sort === undefined ? undefined : sorter});
        return warnOfPartialList(session, printed);
      }
      const answer = await client.dmarc.reports(page);
      session.printer().list(sorter(answer.data), reports);
      notePage(session, answer, {offset: page.offset, sort, noun: 'reports'});
      warnOfPartialList(session, answer);
    });

  dmarc
    .command('report')
    .description('print the report about one domain and day as it would be now')
    .requiredOption('--policy-domain <domain>', 'the domain whose policy applied')
    .requiredOption('--date <day>', 'a day in UTC, such as 2026-03-01', dayOf)
    .requiredOption('--dry-run', 'reports are sent by the nodes; this only prints one')
    .addHelpText('after', reportHelp)
    .action(async ({policyDomain, date}: {policyDomain: string; date: string}) => {
      const client = await session.client();
      const answer = await client.dmarc.preview(date, policyDomain);
      // Names and texts in it come from strangers, and people redirect it into files and look at them.
      session.printer().text(safeBlock(answer.data.xml));
      warnOfPartialList(session, answer);
    });
};

/** Mail is counted for domains with reporting only. A key that may not read domains is told nothing. */
const noteUnreported = async (session: Session, client: Client, name: string): Promise<void> => {
  const list = await client.domains.list().catch(error => {
    if (error instanceof CliError) return undefined;
    throw error;
  });
  const found = list?.data.find(domain => domain.name === canonicalDomain(name));
  if (found?.dmarc_reporting === false)
    session.printer().note(`DMARC reporting is off for ${found.name}: mfctl domain update ${found.name} --dmarc-reporting`);
};

const summaryHelp = `
PASS, SPF and DKIM say how much of the mail is authenticated as from the domain in From.

Example:
  mfctl dmarc summary example.com --since 7d`;

const reportHelp = `
Example:
  mfctl dmarc report --policy-domain example.net --date 2026-03-01 --dry-run > report.xml`;

const dayOf = (text: string): string => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(Date.parse(`${text}T00:00:00Z`)))
    throw new InvalidArgumentError('Must be a day such as 2026-03-01.');
  return text;
};
