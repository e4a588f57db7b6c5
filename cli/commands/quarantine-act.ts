import type {Command} from 'commander';
import type {ActionOutcome, BulkResult, HoldAction, MailReference} from '../../shared/held-mail.ts';
import {countText, plural, timeText} from '../cell-text.ts';
import {CliError, exitCodes, usageError} from '../cli-error.ts';
import type {Client} from '../client.ts';
import type {Column} from '../column.ts';
import {mailId, mailPath, parseMailId, parseMailIds} from '../mail-id.ts';
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

export const addActCommands = (quarantine: Command, session: Session): void => {
  quarantine
    .command('release')
    .description('deliver held mail')
    .argument('<id...>', 'NODE/QUEUE, or - for ids on standard input')
    .addHelpText('after', '\nExamples:\n  mfctl quarantine release NODE/QUEUE NODE/QUEUE\n  mfctl quarantine release - < ids.txt')
    .action((ids: string[]) => act(session, 'release', ids));

  quarantine
    .command('discard')
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
    session.printer().list([data], columns, {value: data});
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
  const results: BulkResult[] = [];
  try {
    for (let at = 0; at < mails.length; at += chunkSize) {
      const items = mails.slice(at, at + chunkSize);
      const {data} = await client.send<BulkResult[]>({method: 'POST', path: `mail/quarantine/${action}`, json: {items}});
      results.push(...data);
    }
  } catch (error) {
    // What was done before the failure has been done, and is told.
    if (results.length > 0) printResults(session, results);
    if (results.length > 0)
      session.printer().warn(`${countText(mails.length - results.length)} of ${countText(mails.length)} ids were not dealt with`);
    throw error;
  }

  const failed = printResults(session, results);
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

const printResults = (session: Session, results: readonly BulkResult[]): number => {
  const printer = session.printer();
  const done = results.filter(result => 'state' in result);
  const failed = results.filter(result => 'error' in result);
  printer.list(done, columns, {none: 'nothing was done', value: results});
  // In JSON they stand among the results.
  if (printer.format === 'table')
    for (const result of failed) {
      const {code, detail, fields = []} = result.error;
      const replies = fields.map(({path, detail: reply}) => `; ${path}: ${reply}`).join('');
      printer.warn(`${mailId(result)}: ${detail} (${code})${replies}`);
    }
  return failed.length;
};
