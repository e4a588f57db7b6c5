// Release and discard, from the key press to the result.
import type {HoldAction} from '../../../../shared/held-mail.ts';
import {CliError} from '../../../errors.ts';
import {plural} from '../../../output/cell-text.ts';
import {mailId} from '../../../quarantine/mail-id.ts';
import type {Shell} from '../../shell/shell.ts';
import {questionLines} from './act-question.ts';
import {actOnMails, resultText} from './held-mail-actions.ts';
import {mailUnderCursor} from './list-state.ts';
import type {QuarantineContext} from './quarantine-context.ts';
import {type PickedMail, pickedMail} from './screen-state.ts';

/** Acts on the selection, or else on the mail under the cursor. */
export const askToAct = (shell: Shell, quarantine: QuarantineContext, action: HoldAction): void => {
  const {say, open, size} = shell;
  const {screen, list, acting} = quarantine;
  const {picked, whole, collecting, rangeStart} = screen.get();
  if (collecting || rangeStart) {
    say('the selection is not complete yet: escape gives it up', 'warn');
    return;
  }

  const under = mailUnderCursor(list.get());
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
      silentNodes: list.get().unreachableNodes,
      width: size.columns,
    }),
    yes: action,
    onYes: () => deferAction(shell, quarantine, {action, mails, isSelection}),
  });
};

interface ConfirmedAction {
  action: HoldAction;
  mails: readonly PickedMail[];
  isSelection: boolean;
}

const deferAction = (shell: Shell, {list, screen, acting}: QuarantineContext, confirmed: ConfirmedAction): void => {
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
      throw new CliError('partial_failure', text);
    },
    onSettled: () => {
      acting.end(mails);
      // After an undo the selection is restored, to be confirmed again or changed.
      if (!hasBegun && isSelection && screen.get().picked.size === 0) screen.dispatch({type: 'picked', mails});
      list.refresh();
    },
  });
};
