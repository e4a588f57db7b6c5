import {displayWidth} from '../../output/display-width.ts';
import {fitText, wrapText} from './fit-text.ts';
import type {Binding} from './keys.ts';
import type {Page} from './modal.ts';
import type {ScreenCommand} from './shell.ts';
import type {Theme} from './theme.ts';

interface HelpSections {
  /** Of the screen. */
  title: string;
  screen: readonly Binding[];
  everywhere: readonly Binding[];
  commands: readonly ScreenCommand[];
  /** Why it is not available here, or undefined when it is. */
  refused?(binding: Binding): string | undefined;
}

interface Column {
  width: number;
  /** Of the keys in it. */
  keysWidth: number;
  theme: Theme;
}

const minColumn = 56;
const gap = 3;
const maxKeysWidth = 20;

/** All keys and commands of this screen, in as many columns as fit. */
export const helpPage = (sections: HelpSections, theme: Theme): Page => ({
  kind: 'page',
  title: `Help: ${sections.title}`,
  lines: width => {
    const count = Math.max(1, Math.floor((width + gap) / (minColumn + gap)));
    const column = {width: Math.floor((width + gap) / count) - gap, keysWidth: keysWidthOf(sections), theme};
    return sideBySide(entriesOf(sections, column), count, column.width);
  },
});

/** The width of the keys, except for those on a separate line. */
const keysWidthOf = ({screen, everywhere, commands}: HelpSections): number => {
  const widths = [...screen, ...everywhere].map(({keys}) => displayWidth(keys.join(' ')));
  const all = [...widths, ...commands.map(({name}) => displayWidth(`:${name}`))];
  return Math.max(1, ...all.filter(width => width <= maxKeysWidth));
};

/** Entries of one or more lines, which are not split; all lines are as wide as the column. */
const entriesOf = ({screen, everywhere, commands, refused}: HelpSections, column: Column): string[][] => {
  const bindings = (list: readonly Binding[]): string[][] =>
    list.map(binding => {
      const reason = refused?.(binding);
      return entry(binding.keys.join(' '), reason === undefined ? binding.help : `${binding.help} (${reason})`, column);
    });
  const blank = fitText('', column.width);
  const title = (text: string): string => column.theme(fitText(text, column.width), 'bold');
  /** The title stays with its first entry. */
  const titled = (text: string, [first = [], ...others]: string[][]): string[][] => [[blank, title(text), ...first], ...others];
  return [
    ...bindings(screen),
    ...titled('Everywhere', bindings(everywhere)),
    ...titled(
      'Commands',
      commands.map(({name, help}) => entry(`:${name}`, help, column)),
    ),
  ];
};

/** Many keys get a separate line, so that their help has enough width. */
const entry = (keys: string, help: string, {width, keysWidth, theme}: Column): string[] => {
  const helpWidth = width - keysWidth - 2;
  const indent = ' '.repeat(keysWidth + 2);
  const [first = '', ...more] = wrapText(help, helpWidth).map(line => fitText(line, helpWidth));
  const rest = more.map(line => indent + line);
  if (displayWidth(keys) <= keysWidth) return [`${theme(fitText(keys, keysWidth), 'accent')}  ${first}`, ...rest];
  return [...wrapText(keys, width).map(line => theme(fitText(line, width), 'accent')), indent + first, ...rest];
};

/** Columns of about equal height, filled from top to bottom. */
const sideBySide = (entries: readonly string[][], count: number, width: number): string[] => {
  const total = entries.flat().length;
  const columns: string[][] = [[]];
  for (const lines of entries) {
    const last = columns.at(-1) ?? [];
    const isFull = last.length > 0 && last.length + lines.length > Math.ceil(total / count) && columns.length < count;
    if (isFull) columns.push(lines[0]?.trim() === '' ? lines.slice(1) : [...lines]);
    else last.push(...lines);
  }
  const height = Math.max(...columns.map(column => column.length));
  const blank = fitText('', width);
  return Array.from({length: height}, (_, row) => columns.map(column => column[row] ?? blank).join(' '.repeat(gap)));
};
