// Commands and options of a program as sections of a page, from the tree that the program reads its command line with.
import type {EventEmitter} from 'node:events';
import type {Argument, Command, Option} from 'commander';
import {bold, definition, filled, italic, plain, sentence, syntax, verbatim} from './roff.ts';

export const commandSections = (program: Command): string => subcommands(program).map(commandSection).join('\n');

export const optionList = (command: Command): string =>
  visibleOptions(command)
    .map(option => optionEntry(command, option))
    .join('\n');

/** A part for the command, then one for each below it. */
const commandSection = (command: Command): string =>
  [`.SS ${syntax(usage(command))}`, ...body(command), ...subcommands(command).map(commandSection)].join('\n');

const usage = (command: Command): string => {
  const own = isGroup(command) ? '<command>' : command.usage().replace(/ ?\[options\] ?/, optionsUsage(command));
  return [...(command.parent ? pathTo(command.parent) : []), command.name(), own.trim()].join(' ').trim();
};

/** Every command has --help. */
const optionsUsage = (command: Command): string => (ownOptions(command).length > 0 ? ' [option...] ' : ' ');

const pathTo = (command: Command): string[] => [...(command.parent ? pathTo(command.parent) : []), command.name()];

const body = (command: Command): string[] => {
  const aliases = command.aliases().map(bold).join(', ');
  return [
    filled(plain(sentence(command.description())) + (aliases === '' ? '' : ` Also called ${aliases}.`)),
    ...command.registeredArguments
      .filter(({description}) => description !== '')
      .map(argument => argumentEntry(command, argument)),
    ...ownOptions(command).map(option => optionEntry(command, option)),
    ...afterText(command).flatMap(paragraphs),
  ];
};

const argumentEntry = (command: Command, argument: Argument): string =>
  definition(italic(argument.name()), [plain(sentence(unquoted(command.createHelp().argumentDescription(argument))))]);

const optionEntry = (command: Command, option: Option): string =>
  definition(syntax(option.flags), [
    plain(sentence(unquoted(command.createHelp().optionDescription(option)))) + required(option),
  ]);

const required = ({mandatory}: Option): string => (mandatory ? ' Must be given.' : '');

/** Commander shows choices in quotes. */
const unquoted = (text: string): string => text.replace(/\(choices: [^)]*\)/, choices => choices.replaceAll('"', ''));

/** What `addHelpText('after', …)` added to the help. */
const afterText = (command: Command): string[] => {
  const texts: string[] = [];
  // Commander keeps it as a listener, and its types do not tell that a command is an emitter.
  (command as unknown as EventEmitter).emit('afterHelp', {error: false, command, write: (text: string) => texts.push(text)});
  return texts;
};

/** Text that is indented is shown as it is; all other lines between two empty ones are a paragraph. */
const paragraphs = (text: string): string[] => {
  const parts: {isVerbatim: boolean; lines: string[]}[] = [];
  let isNew = true;
  for (const line of text.split('\n')) {
    const isVerbatim = line.startsWith('  ');
    const last = parts.at(-1);
    if (line === '') isNew = true;
    else if (last && !isNew && last.isVerbatim === isVerbatim) last.lines.push(line);
    else parts.push({isVerbatim, lines: [line]});
    if (line !== '') isNew = false;
  }
  return parts.map(({isVerbatim, lines}) => {
    if (!isVerbatim) return `.PP\n${filled(plain(lines.join(' ')))}`;
    const block = isNameList(lines) ? filled(plain(lines.join(' '))) : verbatim(lines.map(line => line.slice(2)).join('\n'));
    return `.PP\n.RS 4\n${block}\n.RE`;
  });
};

/** Such as the fields for --json, which the help folds to the width of the terminal. */
const isNameList = (lines: readonly string[]): boolean => lines.every(line => /^ {2}\w+(, \w+)*,?$/.test(line));

const isGroup = (command: Command): boolean => command.commands.length > 0;

const subcommands = (command: Command): Command[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter(sub => command.commands.includes(sub));

const visibleOptions = (command: Command): Option[] => command.createHelp().visibleOptions(command);

const ownOptions = (command: Command): Option[] => visibleOptions(command).filter(({long}) => long !== '--help');
