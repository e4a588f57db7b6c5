// Actions on all mail that matches filters: list it, show it, ask, then act.
import type {BulkResult, HeldMail, HoldAction, MailReference} from '../../shared/held-mail.ts';
import {safeLine} from '../../shared/safe-text.ts';
import {CliError, exitCodes} from '../errors.ts';
import {countText, plural} from '../output/cell-text.ts';
import {warnOfPartialList} from '../output/print-all.ts';
import {createProgressBar} from '../output/progress-bar.ts';
import {renderTable} from '../output/table.ts';
import {isColour, type Session} from '../session.ts';
import {
  actOn,
  type BulkOutcome,
  collectMatching,
  countResults,
  type Matching,
  type Progress,
  pastTense,
  printResults,
  warnOfFailures,
} from './bulk-action.ts';
import {heldMails} from './held-mail-columns.ts';
import {flagsText, isEmptyQuery, parametersOf, type QueryFlags, queryOf} from './hold-query.ts';
import {askStrictly, noneOf, partialList, reportUnknownFilter, type StrictFlag} from './quarantine-list.ts';
import {allowSenders, planAllowing, sayAllowances} from './sender-allowance.ts';

export interface ActOptions {
  yes?: boolean | undefined;
  dryRun?: boolean | undefined;
  expectCount?: number | undefined;
  allowSender?: boolean | undefined;
}

interface MatchingAction extends ActOptions, StrictFlag {
  filter: QueryFlags;
}

const sampleSize = 5;

export const actOnMatching = async (session: Session, action: HoldAction, needs: MatchingAction): Promise<void> => {
  const {filter, yes, dryRun, expectCount, strict, allowSender} = needs;
  const printer = session.printer();
  const matching = await collect(session, {filter, strict});
  const {mails, unreachableNodes} = matching;
  if (strict && unreachableNodes.length > 0) throw partialList(unreachableNodes);
  if (mails.length === 0) await reportUnknownFilter(await session.client(), filter, printer);
  checkExpectedCount(mails.length, expectCount, `held ${mails.length === 1 ? 'mail matches' : 'mails match'}`);
  const plan = await planAllowing(session, mails, allowSender);

  if (dryRun || mails.length === 0) {
    warnOfPartialList(session, matching);
    const none = noneOf(matching, filter, isAll(filter) ? 'no held mail' : `no held mail matches ${flagsText(filter)}`);
    printer.list(mails, {...heldMails, none});
    sayAllowances(session, plan);
    if (dryRun) printer.note(`a dry run: nothing was changed, ${plural(mails.length, 'mail')} would be ${pastTense[action]}`);
    return;
  }
  if (!yes || !printer.isQuiet) showSample(session, mails, filter);
  if (!yes) sayAllowances(session, plan);
  await session.confirm(question(action, matching, plan.wanted.length), yes);
  if (yes) warnOfPartialList(session, matching);
  await actOnMany(session, action, {
    mails,
    isListed: !printer.isForPeople || !session.terminal.stdout.isTTY,
    afterwards: async results => allowSenders(session, plan, results),
  });
};

const collect = async (session: Session, {filter, strict}: Pick<MatchingAction, 'filter' | 'strict'>): Promise<Matching> => {
  const client = await session.client();
  const bar = createProgressBar(session.terminal, 'counting', session.printer().isQuiet);
  const stop = new AbortController();
  const ignoreInterrupts = session.terminal.onInterrupt(() => stop.abort(nothingChanged()));
  const onProgress = (progress: Progress): void => {
    // A single page needs no progress bar.
    if (progress.done < progress.total) bar.update(progress);
  };
  const collecting = collectMatching(
    client,
    {...parametersOf(queryOf(filter), Date.now()), strict},
    {signal: stop.signal, onProgress},
  );
  return askStrictly(collecting, {strict}).finally(() => {
    bar.clear();
    ignoreInterrupts();
  });
};

const nothingChanged = (): CliError => new CliError('interrupted', 'nothing was changed', {exitCode: exitCodes.interrupted});

/** To standard error, as standard output gets the results. */
const showSample = (session: Session, mails: readonly HeldMail[], filter: QueryFlags): void => {
  const {stderr} = session.terminal;
  const {columns} = heldMails;
  const maxWidth = stderr.isTTY ? stderr.columns || 80 : undefined;
  const table = renderTable(mails.slice(0, sampleSize), columns, {
    isColour: isColour(stderr, session.terminal, session.flags()),
    maxWidth,
  });
  const rest = mails.length - sampleSize;
  const match = mails.length === 1 ? 'matches' : 'match';
  const why = isAll(filter) ? 'without a filter: this is ALL held mail' : `${match} ${safeLine(flagsText(filter))}`;
  stderr.write(`${plural(mails.length, 'held mail')} ${why}:\n\n${table}`);
  stderr.write(rest > 0 ? `and ${countText(rest)} more\n\n` : '\n');
};

const question = (action: HoldAction, {mails, unreachableNodes}: Matching, senders: number): string => {
  const what = mails.length === 1 ? 'this mail' : `these ${countText(mails.length)} mails`;
  const missing = unreachableNodes.length === 0 ? '' : `, without those of ${unreachableNodes.join(', ')}, which did not answer`;
  const allowing = senders === 0 ? '' : `, and allow ${plural(senders, 'sender')} from now on`;
  return `${action === 'release' ? 'Release' : 'Discard'} ${what}${action === 'discard' ? ' for good' : ''}${missing}${allowing}?`;
};

const isAll = (filter: QueryFlags): boolean => isEmptyQuery(queryOf(filter));

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
