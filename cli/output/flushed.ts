// Flush of standard output, for secrets that are shown once: they count as shown only when the reader has taken them.

import type {Terminal} from '../command-line/terminal.ts';
import {CliError} from '../errors.ts';

/** Call it right after writing. Rejects with a CliError when standard output is closed or its disk is full. */
export const flushed = ({stdout}: Pick<Terminal, 'stdout'>, what: string): Promise<void> =>
  new Promise((resolve, reject) => {
    stdout.write('', (error?: NodeJS.ErrnoException | null) => {
      if (error) reject(new CliError('output_failed', `standard output has not taken ${what} (${error.code ?? error.message})`));
      else resolve();
    });
  });
