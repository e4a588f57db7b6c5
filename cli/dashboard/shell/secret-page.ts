// Page of a secret that is shown once. Only this page holds it, so it is gone when the page is closed.
import {copyToClipboard} from './clipboard.ts';
import {wrapText} from './fit-text.ts';
import type {Page} from './modal.ts';
import type {Shell} from './shell.ts';

interface SecretPage {
  title: string;
  /** What the secret is for. */
  before: readonly string[];
  secret: string;
  /** What to do with it. */
  after: readonly string[];
}

/** Closed by enter alone. The secret is on separate lines, at the left edge of the page. */
export const secretPage = ({app, say}: Pick<Shell, 'app' | 'say'>, {title, before, secret, after}: SecretPage): Page => ({
  kind: 'page',
  title,
  mustConfirm: 'I have it',
  lines: width => [
    ...before.flatMap(line => wrapText(line, width)),
    '',
    ...wrapText(secret, width).map(line => app.theme(line, 'bold')),
    '',
    ...after.flatMap(line => wrapText(line, width)),
    '',
    ...wrapText('y puts it on the clipboard, where the terminal supports that (OSC 52). It is not shown again.', width),
  ],
  keys: [
    {
      key: 'y',
      label: 'copy',
      run: () => {
        if (copyToClipboard(app.terminal.stdout, secret))
          say('sent to the clipboard of the terminal: see that it can be pasted before you go on', 'good');
        else say('it is too long for the clipboard of a terminal', 'warn');
      },
    },
  ],
});
