// The filters of held mail: what is typed, what the API is asked, and what is said when not all nodes have answered it.
import {type Command, Option} from 'commander';
import {type Reason, reasons} from '../../shared/reason.ts';
import type {Answer} from '../client/client.ts';
import {pastMoment} from '../command-line/moment.ts';
import {decimal} from '../command-line/option-values.ts';
import {CliError, exitCodes} from '../errors.ts';
import {warnOfPartialList} from '../output/page-notes.ts';
import type {Session} from '../session.ts';
import type {MailQuery} from './held-mail-pages.ts';

export interface MailFilter {
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
}

export interface StrictFlag {
  strict?: boolean | undefined;
}

export const addFilterOptions = (command: Command): Command =>
  command
    .option('--domain <domain>', 'of this domain')
    .option('--sender <sender>', "from this address or domain; '<>' for bounces")
    .option('--recipient <address>', 'to this address')
    .option('--subject <text>', 'with this text in the subject')
    .option('--since <time>', 'at or after this time: 2026-03-01T00:00:00Z, or 2h and 3d before now', pastMoment)
    .option('--until <time>', 'before this time, in the same forms', pastMoment)
    .option('--min-score <score>', 'with at least this score', decimal)
    .option('--max-score <score>', 'with at most this score', decimal)
    .addOption(new Option('--reason <reason>', 'held for this reason').choices(reasons))
    .option('--node <node>', 'held by this node');

export const addStrictOption = (command: Command): Command => command.option('--strict', 'fail when a node does not answer');

export const mailQuery = ({
  domain,
  sender,
  recipient,
  subject,
  since,
  until,
  reason,
  node,
  ...filter
}: MailFilter): MailQuery => ({
  domain,
  sender,
  recipient,
  subject,
  since,
  until,
  min_score: filter.minScore,
  max_score: filter.maxScore,
  reason,
  node,
});

/** Under `--strict` a node that does not answer makes the whole list fail: that is a partial list, not an unreachable node. */
export const askStrictly = async <T>(asking: Promise<T>, {strict}: StrictFlag): Promise<T> => {
  try {
    return await asking;
  } catch (error) {
    if (!strict || !(error instanceof CliError) || !['node_unreachable', 'unavailable'].includes(error.code)) throw error;
    const {code, detail, hint, requestId} = error;
    throw new CliError(code, detail, {exitCode: exitCodes.partial, hint, requestId, cause: error});
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
