// The commands there are.
import type {Command} from 'commander';
import {createCommands} from '../../cli/program.ts';
import {createFakeTerminal, type FakeTerminalOptions, runCli} from './fake-terminal.ts';

export const mfctlCommands = (): Command => createCommands([], createFakeTerminal()).program;

/** The command itself and all below it, as the help shows them. */
export const allCommands = (command: Command): Command[] => [
  command,
  ...command
    .createHelp()
    .visibleCommands(command)
    .filter(sub => command.commands.includes(sub))
    .flatMap(allCommands),
];

/** `mfctl domain dkim create`. */
export const commandLine = (command: Command): string =>
  command.parent ? `${commandLine(command.parent)} ${command.name()}` : command.name();

/** What is typed after `mfctl` for each command that does something. */
export const commandWords = (): string[][] =>
  allCommands(mfctlCommands())
    .filter(({commands}) => commands.length === 0)
    .map(command => commandLine(command).split(' ').slice(1));

export const helpOf = async (words: readonly string[], options: FakeTerminalOptions = {}): Promise<string> =>
  (await runCli([...words, '--help'], {...options, env: {XDG_CONFIG_HOME: '/nonexistent', ...options.env}})).stdout;
