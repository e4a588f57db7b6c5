// A node that goes away while it is watched: said once when it does, and once when it is back.

import {CliError, exitCodes} from '../errors.ts';
import {timeText} from '../output/cell-text.ts';
import type {Printer} from '../output/printer.ts';

export interface Contact {
  /** It does not answer. Throws when it never has: then there is nothing to wait for, and most likely something to correct. */
  lost(error: CliError | undefined): void;
  /** It answers. */
  found(): void;
}

/** `whatWasMissed` is said when the node is back. */
export const createContact = (printer: Pick<Printer, 'warn' | 'note'>, whatWasMissed: string): Contact => {
  let hasAnswered = false;
  let lostAt: string | undefined;

  return {
    lost(error = new CliError('ended', 'the node has ended the connection', {exitCode: exitCodes.unreachable})) {
      if (!hasAnswered) throw error;
      if (lostAt !== undefined) return;
      lostAt = now();
      printer.warn(`no answer since ${lostAt}: ${error.detail}; trying on`);
    },
    found() {
      hasAnswered = true;
      if (lostAt === undefined) return;
      printer.note(`answers again at ${now()}; ${whatWasMissed}`);
      lostAt = undefined;
    },
  };
};

const now = (): string => timeText(new Date().toISOString()) ?? '';
