// Selection beyond the screen: a range, or all matches.
import type {HeldMail} from '../../../../shared/held-mail.ts';
import {plural} from '../../../output/cell-text.ts';
import {mailId} from '../../../quarantine/held-mail-columns.ts';
import {heldMailPages} from '../../../quarantine/held-mail-pages.ts';
import {parametersOf, type QueryParameters, queryWords} from '../../../quarantine/hold-query.ts';
import {parseQuery} from '../../../quarantine/query-line.ts';
import type {Shell} from '../../shell/shell.ts';
import type {QuarantineContext} from './quarantine-context.ts';
import {maxPicked, type PickedMail, pickedMail} from './screen-state.ts';

export const selectAll = (shell: Shell, quarantine: QuarantineContext): void => {
  const query = parseQuery(quarantine.state.get().filter);
  const words = queryWords(query);
  void collect(shell, quarantine, {
    what: `all that match (${words})`,
    whole: words,
    parameters: parametersOf(query, shell.app.now()),
    isWanted: () => true,
  });
};

/** Starts a range, or ends the started one. */
export const markRange = (shell: Shell, quarantine: QuarantineContext, end: HeldMail): void => {
  const {state, screen} = quarantine;
  const {rangeStart: start} = screen.get();
  if (!start) {
    screen.dispatch({type: 'range-begun', mail: end});
    return;
  }

  screen.dispatch({type: 'range-left'});
  const [older, newer] = start.arrived_at < end.arrived_at ? [start, end] : [end, start];
  const {since: _since, until: _until, ...parameters} = parametersOf(parseQuery(state.get().filter), shell.app.now());
  void collect(shell, quarantine, {
    what: 'the range',
    whole: undefined,
    parameters: {...parameters, since: older.arrived_at, until: justAfter(newer.arrived_at)},
    isWanted: betweenMails(newer, older),
  });
};

/** For mails from the newest on: true between two mails, inclusive. */
const betweenMails = (newer: HeldMail, older: HeldMail): ((mail: HeldMail) => boolean) => {
  const [one, other] = [mailId(newer), mailId(older)];
  let isWithin = false;
  let isOver = false;
  return mail => {
    const id = mailId(mail);
    // The newer one may have left meanwhile.
    if (!isOver && mail.arrived_at < newer.arrived_at) isWithin = true;
    if (id !== one && id !== other) return isWithin;
    if (isOver) return false;
    isOver = isWithin || one === other;
    isWithin = !isOver;
    return true;
  };
};

/** `until` excludes its own millisecond. */
const justAfter = (timestamp: string): string => new Date(Date.parse(timestamp) + 1).toISOString();

interface Collection {
  what: string;
  whole: string | undefined;
  parameters: QueryParameters;
  isWanted(mail: HeldMail): boolean;
}

const collect = async (
  {app, say, fail}: Shell,
  {screen}: QuarantineContext,
  {what, whole, parameters, isWanted}: Collection,
): Promise<void> => {
  if (screen.get().collecting) return say('another selection is being made: escape stops it', 'warn');
  const running = new AbortController();
  const mails: PickedMail[] = [];
  let total = 0;
  const showProgress = (): void =>
    screen.dispatch({type: 'collecting', progress: {what, done: mails.length, total, stop: () => running.abort()}});
  showProgress();
  try {
    for await (const page of heldMailPages(app.client, parameters, running.signal)) {
      mails.push(...page.mails.filter(isWanted).map(pickedMail));
      // Later pages count only what is older.
      total ||= page.totalCount ?? 0;
      showProgress();
      if (mails.length >= maxPicked) break;
    }
    const isAll = mails.length < maxPicked;
    screen.dispatch({type: 'picked', mails, ...(whole !== undefined && isAll && {whole})});
    // The count is shown above the list; a message would outlive the selection.
    if (mails.length === 0) say('nothing matches, so nothing more is selected');
    else if (!isAll) say(`only the newest ${plural(maxPicked, 'mail')} are selected: that is the most`, 'warn');
  } catch (error) {
    if (running.signal.aborted) say('stopped: nothing more is selected', 'warn');
    else fail(error);
  } finally {
    screen.dispatch({type: 'collecting', progress: undefined});
  }
};
