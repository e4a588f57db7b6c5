import type {Command} from 'commander';
import type {BulkResult, HoldAction, MailReference} from '../../shared/held-mail.ts';
import type {Client} from '../client/client.ts';
import {collected, wholeNumber} from '../command-line/option-values.ts';
import {readStdin} from '../command-line/terminal.ts';
import {CliError, usageError} from '../errors.ts';
import type {Listed} from '../output/table.ts';
import type {Session} from '../session.ts';
import {actionOutcomes, bulkResults, pastTense} from './bulk-action.ts';
import {mailId, parseMailId, parseMailIds} from './held-mail-columns.ts';
import {addQueryOptions, type QueryFlags} from './hold-query.ts';
import {type ActOptions, actOnMany, actOnMatching, checkExpectedCount} from './quarantine-act-matching.ts';
import {addStrictOption, type StrictFlag} from './quarantine-list.ts';
import {allowSenders, planAllowing, sayAllowances} from './sender-allowance.ts';

interface ActFlags extends QueryFlags, StrictFlag, ActOptions {
  allMatching?: boolean;
  only?: string[];
}

export const addActCommands = (quarantine: Command, session: Session): void => {
  addActCommand(quarantine, session, 'release')
    .description('deliver held mail: by its ids, or all that matches filters')
    .option('--allow-sender', 'let later mail of its sender through: add a filter to the domain, for inbound mail only');
  addActCommand(quarantine, session, 'discard').description(
    'delete held mail for good, without delivering it: by its ids, or all that matches filters',
  );
};

const addActCommand = (quarantine: Command, session: Session, action: HoldAction): Command => {
  const command = session
    .prints(quarantine.command(action), bulkResults)
    .argument('[id...]', 'NODE/QUEUE, or - for ids on standard input')
    .option('--only <address>', 'for this recipient: the mail stays held for the others; may be repeated', collected)
    .option('--all-matching', 'all held mail that matches the filters below, in place of ids');
  return addStrictOption(addQueryOptions(command))
    .option('--expect-count <number>', 'do nothing unless there are exactly this many mails', wholeNumber)
    .option('--dry-run', `print the mails that would be ${pastTense[action]}, and change nothing`)
    .option('--yes', 'do not ask')
    .addHelpText('after', helpOf(action))
    .action((ids: string[], flags: ActFlags) => act(session, action, {ids, flags}));
};

const helpOf = (action: HoldAction): string => `
With --all-matching mfctl counts the mails, then asks for confirmation. Mail that arrives meanwhile is not affected. In a
terminal it then lists only the failures. Ctrl-C stops it after the current requests.

Examples:
  mfctl quarantine ${action} NODE/QUEUE NODE/QUEUE
  mfctl quarantine ${action} NODE/QUEUE --only ann@example.com
  mfctl quarantine ${action} - < ids.txt${action === 'release' ? '\n  mfctl quarantine release NODE/QUEUE --allow-sender' : ''}
  mfctl quarantine ${action} --all-matching --sender news@example.org --since 2h
  mfctl quarantine ${action} --all-matching --domain example.com --min-score 20 --dry-run`;

const act = async (session: Session, action: HoldAction, {ids, flags}: {ids: string[]; flags: ActFlags}): Promise<void> => {
  const {allMatching, only, yes, dryRun, expectCount, strict, allowSender, ...filter} = flags;
  const help = `mfctl quarantine ${action} --help`;
  const hasFilters = strict !== undefined || Object.keys(filter).length > 0;
  if (ids.length > 0 && (allMatching || hasFilters))
    throw usageError('ids and filters do not go together: name the mails, or say with --all-matching which ones are meant', help);
  if (only && (ids.length !== 1 || ids[0] === '-')) throw usageError('--only goes with the id of one mail', help);
  if (allMatching) return actOnMatching(session, action, {filter, yes, dryRun, expectCount, strict, allowSender});
  if (hasFilters) throw usageError(`filters alone ${action} nothing: add --all-matching if all that matches is meant`, help);
  if (ids.length === 0)
    throw usageError('name the mails: by ids, by - for ids on standard input, or by filters with --all-matching', help);

  return actOnNamed(session, action, {ids, only, dryRun, expectCount, allowSender});
};

interface Named extends Omit<ActOptions, 'yes'> {
  ids: string[];
  only: string[] | undefined;
}

const actOnNamed = async (
  session: Session,
  action: HoldAction,
  {ids, only, dryRun, expectCount, allowSender}: Named,
): Promise<void> => {
  const printer = session.printer();
  const mails = await mailsOf(session, ids);
  checkExpectedCount(mails.length, expectCount, 'ids are named');
  const [mail] = mails;
  if (mail === undefined) return printer.note(`no ids on standard input, nothing to ${action}`);

  const plan = await planAllowing(session, mails, allowSender);
  if (dryRun) {
    printer.list(mails, references);
    sayAllowances(session, plan);
    const forSome = only ? `, the mail would be ${pastTense[action]} for ${only.join(' and ')} alone` : '';
    return printer.note(`a dry run: nothing was changed${forSome}`);
  }
  const afterwards = async (results: readonly BulkResult[]) => allowSenders(session, plan, results);
  if (mails.length > 1) return actOnMany(session, action, {mails, isListed: true, afterwards});

  const client = await session.client();
  if (only) await requireStates(client, mail);
  const data = only
    ? await client.quarantine.actForSome(action, {...mail, recipients: only})
    : (await client.quarantine.act(action, mail)).data;
  printer.record(data, actionOutcomes);
  const unfinished = await afterwards([data]);
  if (unfinished) throw unfinished;
};

/** Nodes of earlier versions act for all recipients. Throws for one. */
const requireStates = async (client: Client, mail: MailReference): Promise<void> => {
  const found = await client.quarantine.get(mail).catch(error => {
    // What has ended cannot be acted on for anybody, and the node says what became of it.
    if (error instanceof CliError && error.code === 'not_found') return undefined;
    throw error;
  });
  if (found && !found.data.recipient_states)
    throw new CliError(
      'unavailable',
      `a node runs an earlier version, which acts for all recipients of ${mailId(mail)}; nothing was done, update it first`,
    );
};

const references: Listed<MailReference> = {
  fields: ['node_id', 'queue_id'],
  nameOf: mailId,
  columns: [{title: 'ID', cell: mailId}],
};

/** Throws unless every id is valid, before anything is done. Repeated ids count once. */
const mailsOf = async (session: Session, ids: string[]): Promise<MailReference[]> => {
  if (ids.includes('-') && ids.length > 1) throw usageError('- stands for all ids, and goes with no other');
  const mails = ids[0] === '-' ? parseMailIds(await readStdin(session.terminal)) : ids.map(parseMailId);
  return [...new Map(mails.map(mail => [mailId(mail), mail])).values()];
};
