// Command `dmarc sources`: who sends mail as a domain here, by the reports of others.
import type {Command} from 'commander';
import type {ReportedSource} from '../../shared/reported-source.ts';
import {pastMoment} from '../command-line/moment.ts';
import {countText} from '../output/cell-text.ts';
import {columnsOf} from '../output/field.ts';
import {warnOfPartialList} from '../output/print-all.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Listed} from '../output/table.ts';
import type {Session} from '../session.ts';
import {sourceFields} from './source-fields.ts';

const sources: Listed<ReportedSource> = {
  fields: [
    'source_ip',
    'name',
    'network',
    'count',
    'passed',
    'spf_passed',
    'spf_aligned',
    'dkim_passed',
    'dkim_aligned',
    'reporters',
  ],
  nameOf: ({source_ip}) => source_ip,
  columns: columnsOf(sourceFields),
  none: 'nothing was reported',
};

interface Flags extends SortFlag {
  since?: string;
  verified?: true;
}

export const addSourcesCommand = (dmarc: Command, session: Session): void => {
  session
    .prints(addSortOption(dmarc.command('sources')), sources)
    .description('list who sends mail as a domain, by the reports sent to dmarc.receive_at')
    .argument('<domain>', 'a domain of the cluster')
    .option('--since <time>', 'since the day of this time: 2026-03-01, or 7d before now (default: 30d)', pastMoment)
    .option('--verified', 'only reports whose sender SPF or DKIM verifies')
    .addHelpText('after', help)
    .action(async (domain: string, {since, verified, sort}: Flags) => {
      const client = await session.client();
      const answer = await client.dmarc.sources({domain, since, verified});
      const {data} = answer;
      const printer = session.printer();
      printer.list(createSorter(sources, {sort})(data.sources), sources);
      if (data.sources.length < data.source_count)
        printer.note(`${countText(data.sources.length)} of ${countText(data.source_count)} sources`);
      if (data.count > 0)
        printer.note(
          `${countText(data.count)} mails since ${data.since} in ${countText(data.report_count)} reports, ${countText(data.passed)} pass DMARC`,
        );
      warnOfPartialList(session, answer);
    });
};

const help = `
SPF and DKIM say how much of the mail passes, for any domain. ALIGNED says how much passes
for the domain in From; PASS is what passes DMARC by one of the two.
All of this is what the senders of the reports claim.

Example:
  mfctl dmarc sources example.com --since 7d`;
