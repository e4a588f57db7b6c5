// For what is shown once: it counts as shown only when somebody has taken it.

import type {Terminal} from '../command-line/terminal.ts';
import {CliError} from '../errors.ts';

/** Right after the writing. Rejects with a CliError when nobody reads standard output any more, or it has no room. */
export const flushed = ({stdout}: Pick<Terminal, 'stdout'>, what: string): Promise<void> =>
  new Promise((resolve, reject) => {
    stdout.write('', (error?: NodeJS.ErrnoException | null) => {
      if (error) reject(new CliError('output_failed', `standard output has not taken ${what} (${error.code ?? error.message})`));
      else resolve();
    });
  });
