// Keys that change nothing: save a mail, show its id, show why an action failed.
import {homedir} from 'node:os';
import {join, resolve} from 'node:path';
import {safeLine} from '../../../../shared/safe-text.ts';
import {sizeText} from '../../../output/cell-text.ts';
import {mailId} from '../../../quarantine/mail-id.ts';
import {saveMail} from '../../../quarantine/save-mail.ts';
import {copyToClipboard} from '../../shell/clipboard.ts';
import {wrapText} from '../../shell/fit-text.ts';
import {guarded, type Shell} from '../../shell/shell.ts';
import {mailUnderCursor} from './list-state.ts';
import type {QuarantineContext} from './quarantine-context.ts';

export const openSave = (shell: Shell, {list}: QuarantineContext): void => {
  const {open, app, say} = shell;
  const mail = mailUnderCursor(list.get());
  if (!mail) return;
  open({
    kind: 'prompt',
    label: 'write the mail to',
    text: `${mail.queue_id}.eml`,
    check: text => (text.trim() === '' ? 'it needs a name' : undefined),
    hint: () => 'a new file that only you can read; careful with what opens it',
    onSubmit: text =>
      guarded(shell, async () => {
        const file = fileOf(text.trim(), app.terminal.env);
        const size = await saveMail(await app.client.quarantine.body(mail), file);
        say(`${sizeText(size)} written to ${file}`, 'good');
      }),
  });
};

const fileOf = (text: string, {HOME}: Shell['app']['terminal']['env']): string =>
  text.startsWith('~/') ? join(HOME || homedir(), text.slice(2)) : resolve(text);

const maxIds = 10_000;

/** Shows only ids, one per line and without wrapping. */
export const openIds = ({open, app, say}: Shell, {list, screen}: QuarantineContext): void => {
  const under = mailUnderCursor(list.get());
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
