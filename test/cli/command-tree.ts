// Every command that can be typed.
import type {Command} from 'commander';
import {createCommands} from '../../cli/program.ts';
import {createFakeTerminal} from './fake-terminal.ts';

export const mfctlCommands = (): Command => createCommands([], createFakeTerminal()).program;

/** The command itself and all below it, without the hidden ones. */
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
