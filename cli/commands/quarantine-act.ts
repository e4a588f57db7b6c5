import type {Command} from 'commander';
import type {ActionOutcome, BulkResult, HoldAction, MailReference} from '../../shared/held-mail.ts';
import {countText, plural, timeText} from '../cell-text.ts';
import {CliError, exitCodes, usageError} from '../cli-error.ts';
import type {Client} from '../client.ts';
import type {Column} from '../column.ts';
import {mailId, mailPath, parseMailId, parseMailIds} from '../mail-id.ts';
import type {Listed} from '../resource.ts';
import type {Session} from '../session.ts';
import {readStdin} from '../terminal.ts';

/** The most one bulk request may name. */
const chunkSize = 1000;

const columns: Column<ActionOutcome>[] = [
  {title: 'ID', cell: mailId},
  {title: 'STATE', cell: outcome => outcome.state},
  {title: 'AT', cell: outcome => timeText(outcome.acted_at)},
  {title: 'BY KEY', cell: outcome => outcome.acted_by_key_id, align: 'right'},
  {title: 'NOTE', cell: outcome => (outcome.already ? 'was done before' : '')},
];

const outcomes: Listed<ActionOutcome> = {
  fields: ['node_id', 'queue_id', 'state', 'acted_at', 'acted_by_key_id', 'already'],
  nameOf: mailId,
  columns,
};

/** What could not be done stands among the rest, but in the table. */
const results: Listed<BulkResult, ActionOutcome> = {
  ...outcomes,
  fields: [...outcomes.fields, 'error'],
  linesOf: all => all.filter(result => 'state' in result),
  none: 'nothing was done',
};

export const addActCommands = (quarantine: Command, session: Session): void => {
  session
    .prints(quarantine.command('release'), results)
    .description('deliver held mail')
    .argument('<id...>', 'NODE/QUEUE, or - for ids on standard input')
    .addHelpText('after', '\nExamples:\n  mfctl quarantine release NODE/QUEUE NODE/QUEUE\n  mfctl quarantine release - < ids.txt')
    .action((ids: string[]) => act(session, 'release', ids));

  session
    .prints(quarantine.command('discard'), results)
    .description('delete held mail for good, without delivering it')
    .argument('<id...>', 'NODE/QUEUE, or - for ids on standard input')
    .addHelpText('after', '\nExamples:\n  mfctl quarantine discard NODE/QUEUE\n  mfctl quarantine discard - < ids.txt')
    .action((ids: string[]) => act(session, 'discard', ids));
};

const act = async (session: Session, action: HoldAction, ids: string[]): Promise<void> => {
  const mails = await mailsOf(session, ids);
  const [mail] = mails;
  if (mail === undefined) return session.printer().note(`no ids on standard input, nothing to ${action}`);

  const client = await session.client();
  if (mails.length === 1) {
    const {data} = await client.send<ActionOutcome>({method: 'POST', path: `${mailPath(mail)}/${action}`});
    session.printer().record(data, outcomes);
  } else await actOnMany(session, client, {action, mails});
};

/** Nothing is done unless every id reads as one. An id that is named twice is meant once. */
const mailsOf = async (session: Session, ids: string[]): Promise<MailReference[]> => {
  if (ids.includes('-') && ids.length > 1) throw usageError('- stands for all ids, and goes with no other');
  const mails = ids[0] === '-' ? parseMailIds(await readStdin(session.terminal)) : ids.map(parseMailId);
  return [...new Map(mails.map(mail => [mailId(mail), mail])).values()];
};

const actOnMany = async (
  session: Session,
  client: Client,
  {action, mails}: {action: HoldAction; mails: MailReference[]},
): Promise<void> => {
  const answers: BulkResult[] = [];
  try {
    for (let at = 0; at < mails.length; at += chunkSize) {
      const items = mails.slice(at, at + chunkSize);
      const {data} = await client.send<BulkResult[]>({method: 'POST', path: `mail/quarantine/${action}`, json: {items}});
      answers.push(...data);
    }
  } catch (error) {
    // What was done before the failure has been done, and is told.
    if (answers.length > 0) printResults(session, answers);
    if (answers.length > 0)
      session.printer().warn(`${countText(mails.length - answers.length)} of ${countText(mails.length)} ids were not dealt with`);
    throw error;
  }

  const failed = printResults(session, answers);
  if (failed > 0)
    throw new CliError(
      'partial_failure',
      `${countText(failed)} of ${plural(mails.length, 'mail')} could not be ${pastTense[action]}`,
      {
        exitCode: exitCodes.partial,
        hint: 'mfctl quarantine list shows what is held',
      },
    );
};

const pastTense: Record<HoldAction, string> = {release: 'released', discard: 'discarded'};

const printResults = (session: Session, answers: readonly BulkResult[]): number => {
  const printer = session.printer();
  const failed = answers.filter(result => 'error' in result);
  // A name says that it was done; the other formats for programs have room for what was not.
  printer.list(printer.format === 'name' ? answers.filter(result => 'state' in result) : answers, results);
  if (printer.isForPeople || printer.format === 'name')
    for (const result of failed) {
      const {code, detail, fields = []} = result.error;
      const replies = fields.map(({path, detail: reply}) => `; ${path}: ${reply}`).join('');
      printer.warn(`${mailId(result)}: ${detail} (${code})${replies}`);
    }
  return failed.length;
};
