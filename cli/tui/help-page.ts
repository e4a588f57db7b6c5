import {displayWidth} from '../output/display-width.ts';
import {fitText} from './fit-text.ts';
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
    ...commands.map(({name, help}) => entry(`:${name}`, help, width, theme)),
  ],
});

const bindingLines = (bindings: readonly Binding[], width: number, theme: Theme): string[] =>
  bindings.map(({keys, help}) => entry(keys.join(' '), help, width, theme));

const entry = (keys: string, help: string, width: number, theme: Theme): string => {
  const keysWidth = Math.max(20, displayWidth(keys));
  return `${theme(fitText(keys, keysWidth), 'accent')}  ${fitText(help, width - keysWidth - 2).trimEnd()}`;
};
