// What one does with a mail without changing anything: keep a copy, note its id; and see why others failed.
import {homedir} from 'node:os';
import {join, resolve} from 'node:path';
import {safeLine} from '../../../../shared/safe-text.ts';
import {mailPath} from '../../../client/client.ts';
import {sizeText} from '../../../output/cell-text.ts';
import {mailId} from '../../../quarantine/mail-id.ts';
import {saveMail} from '../../../quarantine/save-mail.ts';
import {copyToClipboard} from '../../shell/clipboard.ts';
import {wrapText} from '../../shell/fit-text.ts';
import type {Frame} from '../../shell/shell.ts';
import {mailUnderCursor} from './list-state.ts';
import type {QuarantineDesk} from './quarantine-context.ts';

export const openSave = (frame: Frame, {list}: QuarantineDesk): void => {
  const {open, desk, say, fail} = frame;
  const mail = mailUnderCursor(list.get());
  if (!mail) return;
  open({
    kind: 'prompt',
    label: 'write the mail to',
    text: `${mail.queue_id}.eml`,
    check: text => (text.trim() === '' ? 'it needs a name' : undefined),
    hint: () => 'a new file that only you can read; careful with what opens it',
    onSubmit: async text => {
      const file = fileOf(text.trim(), desk.terminal.env);
      try {
        const size = await saveMail(await desk.client.download(`${mailPath(mail)}/body`), file);
        say(`${sizeText(size)} written to ${file}`, 'good');
      } catch (error) {
        fail(error);
      }
    },
  });
};

const fileOf = (text: string, {HOME}: Frame['desk']['terminal']['env']): string =>
  text.startsWith('~/') ? join(HOME || homedir(), text.slice(2)) : resolve(text);

const mostIds = 10_000;

/** Nothing but ids, each on a line that is not broken. */
export const openIds = ({open, desk, say}: Frame, {list, screen}: QuarantineDesk): void => {
  const under = mailUnderCursor(list.get());
  const ids = [...screen.get().picked.keys()].slice(0, mostIds);
  if (ids.length === 0 && under) ids.push(mailId(under));
  if (ids.length === 0) return;
  const copy = (): void => {
    if (copyToClipboard(desk.terminal.stdout, ids.join(' ')))
      say('Sent to the clipboard, if the terminal takes that (OSC 52)', 'good');
    else say('too long for the clipboard of a terminal: select fewer', 'warn');
  };
  open({
    kind: 'page',
    title: ids.length === 1 ? 'Id' : 'Ids',
    lines: () => [...ids.map(id => safeLine(id)), '', desk.theme('for mfctl quarantine show, release, discard, body', 'dim')],
    keys: [{key: 'c', label: 'copy', run: copy}],
  });
};

export const openFailures = ({open, say, desk}: Frame, {acting}: QuarantineDesk): void => {
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
        desk.theme(safeLine(id), 'bold'),
        ...wrapText(`${detail} (${code})`, width - 2).map(line => `  ${line}`),
      ]),
    ],
  });
};
