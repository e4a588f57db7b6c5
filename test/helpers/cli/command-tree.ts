// Command tree of mfctl: every command that can be typed.
import type {Command} from 'commander';
import {createCommands} from '../../../cli/program.ts';
import {createFakeTerminal, type FakeTerminalOptions, runCli} from './fake-terminal.ts';

export const mfctlCommands = (): Command => createCommands([], createFakeTerminal()).program;

/** The command itself and all its subcommands, without the hidden ones. */
export const allCommands = (command: Command): Command[] => [
  command,
  ...command
    .createHelp()
    .visibleCommands(command)
    .filter(sub => sub.parent === command)
    .flatMap(allCommands),
];

/** `mfctl domain dkim create`. */
export const commandLine = (command: Command): string =>
  command.parent ? `${commandLine(command.parent)} ${command.name()}` : command.name();

/** The command line without `mfctl`. */
export const wordsOf = (command: Command): string[] => commandLine(command).split(' ').slice(1);

/** The words of the commands that have an action: `['domain', 'dkim', 'create']`. */
export const commandWords = (): string[][] =>
  allCommands(mfctlCommands())
    .filter(command => command.commands.length === 0)
    .map(wordsOf);

export const helpOf = async (words: readonly string[], options: FakeTerminalOptions = {}): Promise<string> =>
  (await runCli([...words, '--help'], {...options, env: {XDG_CONFIG_HOME: '/nonexistent', ...options.env}})).stdout;
