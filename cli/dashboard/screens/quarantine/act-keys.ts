// Release and discard, from the key press to the result.

import {homedir} from 'node:os';
import {join, resolve} from 'node:path';
import type {HeldMail, HoldAction} from '../../../../shared/held-mail.ts';
import {safeLine} from '../../../../shared/safe-text.ts';
import {CliError} from '../../../errors.ts';
import {plural, sizeText} from '../../../output/cell-text.ts';
import {mailId} from '../../../quarantine/held-mail-columns.ts';
import {saveMail} from '../../../quarantine/save-mail.ts';
import {copyToClipboard} from '../../shell/clipboard.ts';
import {wrapText} from '../../shell/fit-text.ts';
import {guarded, type Shell} from '../../shell/shell.ts';
import {actOnMails, questionLines, resultText} from './held-mail-actions.ts';
import type {QuarantineContext} from './quarantine-context.ts';
import {type PickedMail, pickedMail} from './screen-state.ts';

/** An action on more mails is confirmed by typing their number. */
const maxByKey = 100;

/** Acts on the selection, or else on the mail under the cursor. */
export const askToAct = (
  shell: Shell,
  quarantine: QuarantineContext,
  {action, under}: {action: HoldAction; under: HeldMail | undefined},
): void => {
  const {say, open, size} = shell;
  const {screen, held, acting} = quarantine;
  const {picked, whole, collecting, rangeStart} = screen.get();
  if (collecting || rangeStart) {
    say('the selection is not complete yet: escape gives it up', 'warn');
    return;
  }

  const asked = picked.size > 0 ? [...picked.values()] : under ? [pickedMail(under)] : [];
  const {actions} = acting.get();
  const mails = asked.filter(mail => !actions.has(mailId(mail)));
  if (mails.length === 0) {
    say(asked.length > 0 ? 'that is under way already' : `there is no mail to ${action}`, 'warn');
    return;
  }

  const isSelection = picked.size > 0;
  open({
    kind: 'question',
    lines: questionLines({
      action,
      mails,
      whole: mails.length === asked.length ? whole : undefined,
      silentNodes: held.get()?.unreachableNodes ?? [],
      width: size.columns,
    }),
    yes: action,
    ...(mails.length > maxByKey && {number: mails.length}),
    onYes: () => deferAction(shell, quarantine, {action, mails, isSelection}),
  });
};

interface ConfirmedAction {
  action: HoldAction;
  mails: readonly PickedMail[];
  isSelection: boolean;
}

const deferAction = (shell: Shell, {held, screen, acting}: QuarantineContext, confirmed: ConfirmedAction): void => {
  const {action, mails, isSelection} = confirmed;
  let hasBegun = false;
  acting.begin(action, mails);
  if (isSelection) screen.dispatch({type: 'dropped'});
  shell.defer({
    what: `${action} ${plural(mails.length, 'mail')}`,
    run: async onProgress => {
      hasBegun = true;
      const result = await actOnMails(action, mails, {client: shell.app.client, onProgress, onDone: acting.end});
      const text = resultText(action, result);
      if (result.failures.length === 0 && !result.ended) return text;
      acting.fail({text: resultText(action, result, ''), failures: result.failures});
      const [failure, ...others] = result.failures;
      throw new CliError(failure && others.length === 0 && mails.length === 1 ? failure.code : 'partial_failure', text);
    },
    onSettled: () => {
      acting.end(mails);
      // After an undo the selection is restored, to be confirmed again or changed.
      if (!hasBegun && isSelection && screen.get().picked.size === 0) screen.dispatch({type: 'picked', mails});
      held.source.refresh();
    },
  });
};

export const openSave = (shell: Shell, mail: HeldMail): void => {
  const {open, app, say} = shell;
  open({
    kind: 'prompt',
    label: 'write the mail to',
    text: `${mail.queue_id}.eml`,
    check: text => (text.trim() === '' ? 'it needs a name' : undefined),
    hint: () => 'a new file that only you can read; careful with what opens it',
    onSubmit: text =>
      guarded(shell, async () => {
        const file = fileOf(text.trim(), app.terminal.env);
        const size = await saveMail(() => app.client.quarantine.body(mail), file);
        say(`${sizeText(size)} written to ${file}`, 'good');
      }),
  });
};

const fileOf = (text: string, {HOME}: Shell['app']['terminal']['env']): string =>
  text.startsWith('~/') ? join(HOME || homedir(), text.slice(2)) : resolve(text);

const maxIds = 10_000;

/** Shows only ids, one per line and without wrapping. */
export const openIds = ({open, app, say}: Shell, {screen}: QuarantineContext, under: HeldMail | undefined): void => {
  const ids = [...screen.get().picked.keys()].slice(0, maxIds);
  if (ids.length === 0 && under) ids.push(mailId(under));
  if (ids.length === 0) return;
  const copy = (): void => {
    if (copyToClipboard(app.terminal.stdout, ids.join(' ')))
      say('Sent to the clipboard, if the terminal takes that (OSC 52)', 'good');
    else say('too long for the clipboard of a terminal: select fewer', 'warn');
  };
  open({
    kind: 'page',
    title: ids.length === 1 ? 'Id' : 'Ids',
    lines: () => [...ids.map(id => safeLine(id)), '', app.theme('for mfctl quarantine show, release, discard, body', 'dim')],
    keys: [{key: 'c', label: 'copy', run: copy}],
  });
};

export const openFailures = ({open, say, app}: Shell, {acting}: QuarantineContext): void => {
  const {failed} = acting.get();
  if (!failed) {
    say('no release and no discard has failed since the dashboard was opened');
    return;
  }
  open({
    kind: 'page',
    title: 'What failed last',
    lines: width => [
      ...wrapText(failed.text, width),
      ...failed.failures.flatMap(({id, code, detail}) => [
        '',
        app.theme(safeLine(id), 'bold'),
        ...wrapText(`${detail} (${code})`, width - 2).map(line => `  ${line}`),
      ]),
    ],
  });
};
