// Actions on all mail that matches filters: list it, show it, ask, then act.
import type {HeldMail, HoldAction} from '../../shared/held-mail.ts';
import {safeLine} from '../../shared/safe-text.ts';
import {CliError, exitCodes} from '../errors.ts';
import {countText, plural} from '../output/cell-text.ts';
import {warnOfPartialList} from '../output/page-notes.ts';
import {createProgressBar} from '../output/progress-bar.ts';
import {renderTable} from '../output/table.ts';
import {isColour, type Session} from '../session.ts';
import {pastTense} from './action-report.ts';
import {collectMatching, type Matching, type Progress} from './bulk-action.ts';
import {heldMails} from './held-mail-columns.ts';
import {isEmptyQuery, parametersOf} from './hold-query.ts';
import {actOnMany, checkExpectedCount} from './quarantine-act-many.ts';
import {allowSenders, planAllowing, sayAllowances} from './quarantine-allow-sender.ts';
import {flagsText, type QueryFlags, queryOf} from './query-flags.ts';
import {askStrictly, partialList} from './strict-list.ts';
import {reportUnknownFilter} from './unknown-filter.ts';

interface MatchingAction {
  filter: QueryFlags;
  yes: boolean | undefined;
  dryRun: boolean | undefined;
  expectCount: number | undefined;
  strict: boolean | undefined;
  allowSender: boolean | undefined;
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
    printer.list(mails, {...heldMails, none: isAll(filter) ? 'no held mail' : `no held mail matches ${flagsText(filter)}`});
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
