// Help: the groups of commands and the text of each.
import {type Command, Help} from 'commander';
import {nearestWord} from '../../shared/nearest-word.ts';
import {meantCommands} from '../command-line/suggestion.ts';
import {pathOf, subcommandOf} from '../command-line/typed-words.ts';
import {type CliError, usageError} from '../errors.ts';
import {foldWords} from '../output/display-width.ts';
import type {Session} from '../session.ts';
import {type HelpTopic, helpTopics} from './help-topics.ts';

/** Commander's own accepts one word, and shows the help of `quarantine` for `help quarantine list`. */
export const addHelpCommand = (program: Command, session: Session): void => {
  program.helpCommand(false);
  program
    .command('help')
    .description('show help for a command or a topic')
    .argument('[command...]', 'such as quarantine list, or a topic')
    .addHelpText('after', topicList())
    .action((words: string[]) => {
      const topic = words.length === 1 ? helpTopics.find(({name}) => name === words[0]) : undefined;
      if (topic) session.printer().text(topicText(topic));
      else commandAt(program, words).outputHelp();
    });
};

const topicList = (): string =>
  `\nTopics:\n${definitions(helpTopics.map(({name, about}) => [name, about]))}\nExamples:\n  mfctl help quarantine list\n  mfctl help exit-status`;

const topicText = ({intro, entries, closing}: HelpTopic): string =>
  [`${folded(intro, 0)}\n`, definitions(entries), closing && `${folded(closing, 0)}\n`].filter(text => text !== '').join('\n');

const definitions = (entries: HelpTopic['entries']): string => {
  const indent = Math.max(...entries.map(([term]) => term.length)) + 4;
  return entries.map(([term, meaning]) => `  ${term.padEnd(indent - 4)}  ${folded(meaning, indent)}\n`).join('');
};

const folded = (text: string, indent: number): string => foldWords(text, {indent, width: 100});

/** Help with its paragraphs as wide as the terminal. Lines that begin with a blank, such as examples, stay whole: they are copied. */
export const foldParagraphs = (text: string, width: number): string =>
  text.replace(/^\S.*(?:\n\S.*)*/gm, paragraph =>
    paragraph.split('\n').every(line => line.length <= width)
      ? paragraph
      : foldWords(paragraph.replaceAll('\n', ' '), {indent: 0, width}),
  );

const commandAt = (program: Command, words: readonly string[]): Command =>
  words.reduce((command, word) => {
    const found = subcommandOf(command, word);
    if (!found) throw unknownCommand(program, command, {words, word});
    return found;
  }, program);

const unknownCommand = (program: Command, parent: Command, {words, word}: {words: readonly string[]; word: string}): CliError => {
  const topics = words.length === 1 ? helpTopics.map(({name}) => name) : [];
  const meant = meantCommands(parent, word)[0] ?? nearestWord(word, topics);
  const help = [program.name(), 'help'];
  return usageError(
    `there is no command ${words.join(' ')}, nor a topic of that name`,
    meant === undefined ? [...help, 'help'].join(' ') : `did you mean ${[...help, ...pathOf(parent), meant].join(' ')}?`,
  );
};

/** Groups of commands in the help of the program; a test finds a command without one. */
export const commandGroups: Record<string, string[]> = {
  'Mail:': ['quarantine', 'trace', 'dmarc'],
  'Configuration:': ['domain', 'filter', 'key', 'webhook'],
  'The cluster:': ['cluster', 'dashboard', 'audit', 'events', 'metrics'],
  'The API as it is:': ['api', 'openapi'],
  'mfctl itself:': ['login', 'whoami', 'context', 'completion', 'help'],
};

export const groupCommands = (program: Command): void => {
  for (const [heading, names] of Object.entries(commandGroups))
    for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(heading);

  const order = Object.values(commandGroups).flat();
  const placeOf = (command: Command): number => order.indexOf(command.name());
  program.configureHelp({
    visibleCommands: parent => new Help().visibleCommands(parent).toSorted((a, b) => placeOf(a) - placeOf(b)),
    // Commander orders groups by their declaration.
    groupItems: (_, visible, groupOf) => new Help().groupItems(visible, visible, groupOf),
  });
};
