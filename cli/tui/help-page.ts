import {displayWidth} from '../output/display-width.ts';
import {fitText, wrapText} from './fit-text.ts';
import type {ScreenCommand} from './frame.ts';
import type {Binding} from './keys.ts';
import type {Page} from './modal.ts';
import type {Theme} from './theme.ts';

interface HelpSections {
  /** Of the screen. */
  title: string;
  screen: readonly Binding[];
  everywhere: readonly Binding[];
  commands: readonly ScreenCommand[];
}

/** Everything that can be typed on this screen. */
export const helpPage = ({title, screen, everywhere, commands}: HelpSections, theme: Theme): Page => ({
  kind: 'page',
  title: `Help: ${title}`,
  lines: width => [
    ...bindingLines(screen, width, theme),
    '',
    theme('Everywhere', 'bold'),
    ...bindingLines(everywhere, width, theme),
    '',
    theme('Commands', 'bold'),
    ...commands.flatMap(({name, help}) => entry(`:${name}`, help, width, theme)),
  ],
});

const bindingLines = (bindings: readonly Binding[], width: number, theme: Theme): string[] =>
  bindings.flatMap(({keys, help}) => entry(keys.join(' '), help, width, theme));

/** On a line of their own, many keys leave the room to what they do. */
const entry = (keys: string, help: string, width: number, theme: Theme): string[] => {
  const keysWidth = 20;
  const [first = '', ...rest] = wrapText(help, width - keysWidth - 2);
  const indent = ' '.repeat(keysWidth + 2);
  const more = rest.map(line => indent + line);
  if (displayWidth(keys) <= keysWidth) return [`${theme(fitText(keys, keysWidth), 'accent')}  ${first}`, ...more];
  return [...wrapText(keys, width).map(line => theme(line, 'accent')), indent + first, ...more];
};
