import type {Command} from 'commander';
import {usageError} from '../cli-error.ts';

/** Commander's own takes one word, and shows the help of `quarantine` for `help quarantine list`. */
export const addHelpCommand = (program: Command): void => {
  program.helpCommand(false);
  program
    .command('help')
    .description('show help for a command')
    .argument('[command...]', 'such as quarantine list')
    .action((words: string[]) => commandAt(program, words).outputHelp());
};

const commandAt = (program: Command, words: readonly string[]): Command =>
  words.reduce((command, word) => {
    const found = command.commands.find(candidate => candidate.name() === word || candidate.aliases().includes(word));
    if (!found) throw usageError(`there is no command ${words.join(' ')}`, `${program.name()} --help`);
    return found;
  }, program);
