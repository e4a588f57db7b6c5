import {CliError, exitCodes, usageError} from './cli-error.ts';
import type {Terminal} from './terminal.ts';

/** Asks before what cannot be undone. Without a terminal there is nobody to ask, and silence is no consent. */
export const confirm = async (terminal: Terminal, question: string, isAgreed: boolean | undefined): Promise<void> => {
  if (isAgreed) return;
  if (!terminal.stdin.isTTY) throw usageError(`${question} There is no terminal to answer on`, 'repeat with --yes');

  const answer = await ask(terminal, `${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('cancelled', 'nothing was changed', {exitCode: exitCodes.cancelled});
};

const ask = async ({stdin, stderr}: Terminal, prompt: string): Promise<string> => {
  const {createInterface} = await import('node:readline');
  const lines = createInterface({input: stdin, output: stderr});
  try {
    return await new Promise<string>((resolve, reject) => {
      // The end of input is no answer, hence no; like an interrupt it leaves the cursor behind the question.
      const end = () => {
        stderr.write('\n');
        resolve('');
      };
      lines.once('close', end);
      lines.once('SIGINT', () => reject(new CliError('interrupted', 'nothing was changed', {exitCode: exitCodes.interrupted})));
      lines.question(prompt, answer => {
        lines.off('close', end);
        resolve(answer);
      });
    });
  } finally {
    lines.close();
  }
};
