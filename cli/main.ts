import {run} from './program.ts';
import {processTerminal} from './terminal.ts';

/** Runs one command line (without node and script) and resolves with the exit code. */
export const main = (argv: string[]): Promise<number> => run(argv, processTerminal());
