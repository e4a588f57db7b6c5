// Actions on many mails: progress, Ctrl-C, and the report.
import type {BulkResult, HoldAction, MailReference} from '../../shared/held-mail.ts';
import {CliError, exitCodes} from '../errors.ts';
import {countText, plural} from '../output/cell-text.ts';
import {createProgressBar} from '../output/progress-bar.ts';
import type {Session} from '../session.ts';
import {countResults, pastTense, printResults, warnOfFailures} from './action-report.ts';
import {actOn, type BulkOutcome} from './bulk-action.ts';

export interface Many {
  mails: readonly MailReference[];
  /** Whether the result of each mail is printed. */
  isListed: boolean;
  /** Gets the results, also after a failure. The error that it resolves with is thrown, unless there is a worse one. */
  afterwards(results: readonly BulkResult[]): Promise<CliError | undefined>;
}

export const actOnMany = async (session: Session, action: HoldAction, {mails, isListed, afterwards}: Many): Promise<void> => {
  const printer = session.printer();
  const client = await session.client();
  const bar = createProgressBar(session.terminal, underWay[action], printer.isQuiet);
  const [stop, abandon] = [new AbortController(), new AbortController()];
  const ignoreInterrupts = session.terminal.onInterrupt(() => {
    if (stop.signal.aborted) return abandon.abort();
    stop.abort();
    bar.clear();
    printer.note('stopping after the current requests; Ctrl-C again stops at once');
  });

  const onProgress = bar.update;
  const outcome = await actOn(client, action, mails, {onProgress, signal: stop.signal, abandon: abandon.signal}).finally(() => {
    bar.clear();
    ignoreInterrupts();
  });

  const isPrinted = isListed && (outcome.results.length > 0 || isComplete(outcome));
  if (isPrinted) printResults(printer, outcome.results);
  const failed = warnOfFailures(printer, outcome.results);
  if (!isListed) printer.note(countResults(action, outcome.results));
  const unfinished = await afterwards(outcome.results);
  throwUnlessDone(session, action, {outcome, failed, total: mails.length});
  if (unfinished) throw unfinished;
};

const underWay: Record<HoldAction, string> = {release: 'releasing', discard: 'discarding'};

const isComplete = ({untried, uncertain}: BulkOutcome): boolean => untried.length + uncertain.length === 0;

const throwUnlessDone = (
  session: Session,
  action: HoldAction,
  {outcome, failed, total}: {outcome: BulkOutcome; failed: number; total: number},
): void => {
  const {results, uncertain, untried, failure} = outcome;
  if (!isComplete(outcome) && failure === undefined) {
    const unknown = uncertain.length > 0 ? `, and of ${countText(uncertain.length)} it is not known` : '';
    throw new CliError(
      'interrupted',
      `${countText(results.length - failed)} of ${plural(total, 'mail')} were ${pastTense[action]}${unknown}`,
      {
        exitCode: exitCodes.interrupted,
        hint: 'repeat the same command for the rest: nothing is done twice',
      },
    );
  }
  if (failure !== undefined) {
    const unknown = uncertain.length > 0 ? `, and of ${countText(uncertain.length)} of them it is not known` : '';
    if (results.length > 0)
      session
        .printer()
        .warn(`${countText(untried.length + uncertain.length)} of ${countText(total)} mails were not processed${unknown}`);
    throw failure;
  }
  if (failed > 0)
    throw new CliError('partial_failure', `${countText(failed)} of ${plural(total, 'mail')} could not be ${pastTense[action]}`, {
      exitCode: exitCodes.partial,
      hint: 'mfctl quarantine list shows what is held',
    });
};

/** Checked before anything is done: a person who gave an expected number is protected from a larger one. */
export const checkExpectedCount = (count: number, expected: number | undefined, what: string): void => {
  if (expected !== undefined && expected !== count)
    throw new CliError('unexpected_count', `${countText(count)} ${what} and not ${countText(expected)}: nothing was done`);
};
