import {setImmediate as nextTurn} from 'node:timers/promises';
import {processTerminal} from './command-line/terminal.ts';
import {exitCodes} from './errors.ts';
import {fileFailure} from './files/text-file.ts';
import {failureReport} from './output/failure-report.ts';
import {run} from './program.ts';

/** Runs one command line (without node and script) and resolves with the exit code. */
export const main = async (argv: string[]): Promise<number> => {
  let lost: NodeJS.ErrnoException | undefined;
  const terminal = processTerminal(error => {
    lost ??= error;
  });
  const code = await run(argv, terminal);
  // Write errors are known only after the flush.
  await nextTurn();
  if (lost === undefined) return code;
  const failure = fileFailure('standard output', lost, 'write to');
  terminal.stderr.write(failureReport(failure, {format: 'table', isColour: false}));
  return code === exitCodes.ok ? failure.exitCode : code;
};
