import {type Command, Option} from 'commander';
import type {HeldMail, Reason, Summary, SummaryGroup} from '../../shared/held-mail.ts';
import {briefTimeText, countText, firstOf, plural, senderText, sizeText, timeText} from '../cell-text.ts';
import {CliError, exitCodes} from '../cli-error.ts';
import type {Answer, Request} from '../client.ts';
import type {Column} from '../column.ts';
import {mailId} from '../mail-id.ts';
import {pastMoment} from '../moment.ts';
import {decimal, pageLimit, wholeNumber} from '../option-values.ts';
import {notePage, warnOfPartialList} from '../page-notes.ts';
import type {Listed} from '../resource.ts';
import type {Session} from '../session.ts';

interface FilterFlags {
  domain?: string;
  sender?: string;
  recipient?: string;
  subject?: string;
  since?: string;
  until?: string;
  minScore?: number;
  maxScore?: number;
  reason?: Reason;
  node?: string;
  strict?: boolean;
}

interface ListFlags extends FilterFlags {
  limit?: number;
  offset?: number;
}

const reasons = ['spam', 'phishing', 'sandbox', 'rbl'] as const satisfies readonly Reason[];

const mailColumns: Column<HeldMail>[] = [
  {title: 'ID', cell: mailId},
  {title: 'ARRIVED', cell: mail => timeText(mail.arrived_at), brief: mail => briefTimeText(mail.arrived_at)},
  {title: 'SCORE', cell: mail => mail.score, align: 'right'},
  {title: 'REASON', cell: mail => mail.reason, dropRank: 1},
  {title: 'FROM', cell: mail => senderText(mail.sender), isFlexible: true},
  {
    title: 'TO',
    cell: mail => firstOf(mail.recipients),
    wide: mail => mail.recipients.join(', '),
    isFlexible: true,
    dropRank: 2,
  },
  {title: 'SUBJECT', cell: mail => mail.subject, isFlexible: true},
  {title: 'SIZE', cell: mail => sizeText(mail.size_bytes), align: 'right', isWideOnly: true},
  {title: 'SYMBOLS', cell: mail => mail.symbols.join(' '), isWideOnly: true},
];

const heldMails: Listed<HeldMail> = {
  fields: [
    ...['node_id', 'queue_id', 'sender', 'recipients', 'subject', 'score', 'symbols', 'reason'],
    ...['size_bytes', 'arrived_at'],
  ],
  nameOf: mailId,
  columns: mailColumns,
  none: 'no held mail',
};

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
  addFilterOptions(list)
    .option('--limit <number>', 'at most so many, up to 1000 (100)', pageLimit)
    .option('--offset <number>', 'leave out so many', wholeNumber)
    .addHelpText('after', listHelp)
    .action(async ({limit, offset, ...filter}: ListFlags) => {
      const answer = await ask<HeldMail[]>(
        session,
        {path: 'mail/quarantine', query: {...queryOf(filter), limit, offset}},
        filter,
      );
      session.printer().list(answer.data, heldMails);
      notePage(session, answer, offset, 'held mails');
      reportPartial(session, answer, filter);
    });

  const summary = session
    .prints(quarantine.command('summary'), summaryGroups)
    .description('count held mail by domain, reason and node');
  addFilterOptions(summary)
    .addHelpText('after', '\nExample:\n  mfctl quarantine summary --since 1d')
    .action(async (filter: FilterFlags) => {
      const answer = await ask<Summary>(session, {path: 'mail/quarantine/summary', query: queryOf(filter)}, filter);
      printSummary(session, answer.data);
      reportPartial(session, answer, filter);
    });
};

const listHelp = `
Examples:
  mfctl quarantine list --domain example.com --since 2h --min-score 10
  mfctl quarantine list --sender '<>' --reason spam -o ndjson
  mfctl quarantine list --subject invoice | grep -v example.org | mfctl quarantine release -`;

const addFilterOptions = (command: Command): Command =>
  command
    .option('--domain <domain>', 'of this recipient domain')
    .option('--sender <sender>', "from this address or domain; '<>' for bounces")
    .option('--recipient <address>', 'to this address')
    .option('--subject <text>', 'with this text in the subject')
    .option('--since <time>', 'at or after this time: 2026-03-01T00:00:00Z, or 2h and 3d before now', pastMoment)
    .option('--until <time>', 'before this time, in the same forms', pastMoment)
    .option('--min-score <score>', 'with at least this score', decimal)
    .option('--max-score <score>', 'with at most this score', decimal)
    .addOption(new Option('--reason <reason>', 'held for this reason').choices(reasons))
    .option('--node <node>', 'held by this node')
    .option('--strict', 'fail when a node does not answer');

const queryOf = ({minScore, maxScore, ...filter}: FilterFlags): NonNullable<Request['query']> => ({
  ...filter,
  min_score: minScore,
  max_score: maxScore,
});

/** Under `--strict` a node that does not answer makes the whole list fail: that is a partial list, not an unreachable node. */
const ask = async <T>(session: Session, request: Request, {strict}: FilterFlags): Promise<Answer<T>> => {
  const client = await session.client();
  try {
    return await client.send<T>(request);
  } catch (error) {
    if (!strict || !(error instanceof CliError) || !['node_unreachable', 'unavailable'].includes(error.code)) throw error;
    const {code, detail, hint, requestId} = error;
    throw new CliError(code, detail, {exitCode: exitCodes.partial, hint, requestId, cause: error});
  }
};

const reportPartial = (session: Session, answer: Answer<unknown>, {strict}: FilterFlags): void => {
  if (strict && answer.unreachableNodes.length > 0)
    throw new CliError('partial_list', `the list is incomplete: ${answer.unreachableNodes.join(', ')} did not answer`, {
      exitCode: exitCodes.partial,
      hint: 'mfctl cluster status',
    });
  warnOfPartialList(session, answer);
};

const printSummary = (session: Session, summary: Summary): void => {
  const printer = session.printer();
  printer.list(summary.groups, summaryGroups, {value: summary});
  if (summary.count > 0)
    printer.note(
      `${plural(summary.count, 'held mail')}, ${sizeText(summary.size_bytes)}, the oldest from ${timeText(summary.oldest_arrived_at)}`,
    );
};
