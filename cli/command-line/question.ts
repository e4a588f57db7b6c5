import {safeLine} from '../../shared/safe-text.ts';
import {CliError, exitCodes, usageError} from '../errors.ts';
import type {Terminal} from './terminal.ts';

/** Asks before an action that cannot be undone. Without a terminal it rejects: nobody can answer. */
export const confirm = async (terminal: Terminal, question: string, isAgreed: boolean | undefined): Promise<void> => {
  if (isAgreed) return;
  if (!terminal.stdin.isTTY) throw usageError(`${question} There is no terminal to answer on`, 'repeat with --yes');

  if (!(await agree(terminal, question))) throw new CliError('cancelled', 'nothing was changed', {exitCode: exitCodes.cancelled});
};

/** A question whose "no" is an answer like any other. */
export const agree = async (terminal: Terminal, question: string): Promise<boolean> =>
  /^y(es)?$/i.test((await ask(terminal, `${safeLine(question)} [y/N] `)).trim());

/** Hides what is typed. The end of input counts as an empty answer. */
export const askHidden = (terminal: Terminal, prompt: string): Promise<string> => ask(terminal, prompt, true);

const ask = async ({stdin, stderr}: Terminal, prompt: string, isHidden = false): Promise<string> => {
  const [{createInterface}, {Writable}] = await Promise.all([import('node:readline'), import('node:stream')]);
  // The line editor writes the echo, and this one's output goes nowhere.
  const nowhere = new Writable({write: (_chunk, _encoding, done) => done()});
  const hiding = {output: nowhere, terminal: true, historySize: 0};
  const lines = createInterface({input: stdin, ...(isHidden ? hiding : {output: stderr})});
  if (isHidden) stderr.write(prompt);
  try {
    return await new Promise<string>((resolve, reject) => {
      // The end of input means no; like an interrupt it leaves the cursor behind the question.
      const end = () => {
        stderr.write('\n');
        resolve('');
      };
      lines.once('close', end);
      lines.once('SIGINT', () => reject(new CliError('interrupted', 'nothing was changed', {exitCode: exitCodes.interrupted})));
      lines.question(isHidden ? '' : prompt, answer => {
        lines.off('close', end);
        // At once, as the next input answers the next question.
        lines.close();
        if (isHidden) stderr.write('\n');
        resolve(answer);
      });
    });
  } finally {
    lines.close();
  }
};
