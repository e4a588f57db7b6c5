// What mfd prints after wrong usage: the name that was meant, and the help of the command that was typed.
import {stat} from 'node:fs/promises';
import {dirname} from 'node:path';
import type {Command, Option} from 'commander';
import {nearestWord} from '../../shared/nearest-word.ts';
import {UsageError} from '../node/command-error.ts';

/** Commander's own suggestions name anything that looks similar, such as `join` for `unjoin`. */
export const explainUsageErrors = (command: Command, parents: readonly string[] = []): void => {
  const path = [...parents, command.name()];
  const below = command.commands.map(each => each.name());
  const options = [...command.options.map(({long}) => long ?? ''), '--help'];
  const unknownWords = followUnknownWords(command);
  command
    .showSuggestionAfterError(false)
    .showHelpAfterError(`(${path.join(' ')} --help lists the ${below.length > 0 ? 'commands' : 'options'})`)
    .configureOutput({
      outputError: (told, write) => {
        const [wrong] = unknownWords();
        // Commander asks for --data first, also where --dta was typed.
        const text =
          told.startsWith('error: required option') && wrong?.startsWith('-') ? `error: unknown option '${wrong}'\n` : told;
        const [, kind, word = ''] = /unknown (option|command) '(.*)'/.exec(text) ?? [];
        const meant =
          nearestWord(word.replace(/=.*/s, ''), kind === 'option' ? options : below) ?? ofOnlyCommand(command, path, word);
        write(meant === undefined ? text : `${text.trimEnd()}\n(did you mean ${meant}?)\n`);
      },
    });
  for (const each of command.commands) explainUsageErrors(each, path);
};

/** The words of the last command line that are neither options of the command nor values of these. */
const followUnknownWords = (command: Command): (() => readonly string[]) => {
  let words: readonly string[] = [];
  const parse = command.parseOptions.bind(command);
  command.parseOptions = argv => {
    const parsed = parse(argv);
    words = parsed.unknown;
    return parsed;
  };
  return () => words;
};

/** Commander's own prints the whole help for a command that does not exist, and says nothing. */
export const addHelpCommand = (program: Command): void => {
  program
    .helpCommand(false)
    .command('help')
    .description('show help for a command')
    .argument('[command...]')
    .action((words: readonly string[]) => {
      let command = program;
      for (const word of words) {
        const next = command.commands.find(each => each.name() === word);
        if (next === undefined)
          return command.error(`error: unknown command '${word}'`, {exitCode: 2, code: 'commander.unknownCommand'});
        command = next;
      }
      command.outputHelp();
    });
};

/** `mfd setup --data DIR` lacks the name of the one thing that can be set up. */
const ofOnlyCommand = ({commands: [only, ...others]}: Command, path: readonly string[], word: string): string | undefined => {
  if (only === undefined || others.length > 0 || !only.options.some(({long}) => long === word)) return undefined;
  return [...path, only.name(), word].join(' ');
};

/** Refuses a file as data directory, such as the mfd.yaml in it. What else is wrong with a folder its command finds out. */
export const requireFolder = async (data: string): Promise<void> => {
  const found = await stat(data).catch(() => undefined);
  if (found?.isFile())
    throw new UsageError(`--data ${data}: this is a file; name the folder it lies in: --data ${dirname(data)}`);
};

/** Commander takes the last of two values; which one was meant is a guess. No option of mfd may be repeated. */
export const refuseRepeatedOptions = (mfd: Command): void => {
  const given = new Map<Option, number>();
  countOptions(mfd, option => given.set(option, (given.get(option) ?? 0) + 1));
  mfd.hook('preAction', (_, command) => {
    for (const [{flags}, times] of given) if (times > 1) command.error(`error: option '${flags}' is given ${times} times`);
  });
};

const countOptions = (command: Command, count: (option: Option) => void): void => {
  for (const option of command.options) command.on(`option:${option.name()}`, () => count(option));
  for (const each of command.commands) countOptions(each, count);
};
