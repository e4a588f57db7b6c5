// A real terminal for a program under test: script of util-linux, which keeps every byte that arrives at the master side.
import {type ChildProcess, spawn} from 'node:child_process';
import {quoted} from '../../shared/shell-word.ts';
import {isInstalled} from './installed.ts';
import {cleanEnvironment} from './program.ts';

export const hasScript = isInstalled('script');

export interface PseudoTerminalOptions {
  columns?: number;
  env?: Record<string, string>;
  /** Text that is typed once this text has been printed. */
  answer?: {to: string; keys: string};
  onStart?(child: ChildProcess, type: (keys: string) => void): void;
}

/** The status as in a shell: 130 for a program ended by an interrupt. */
export interface PseudoTerminalRun {
  code: number;
  /** Standard output and standard error, in order of arrival. */
  output: Buffer;
}

export const runInTerminal = (file: string, args: string[], options: PseudoTerminalOptions = {}): Promise<PseudoTerminalRun> => {
  const {columns = 80, env = {}, answer, onStart} = options;
  let isAnswered = answer === undefined;
  const command = `stty cols ${columns} rows 50; exec ${[process.execPath, file, ...args].map(quoted).join(' ')}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: {...cleanEnvironment(), TERM: 'xterm-256color', SHELL: '/bin/sh', ...env},
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const type = (keys: string): void => void child.stdin.write(keys);
  const chunks: Buffer[] = [];
  child.stdin.on('error', () => {});
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    if (isAnswered || answer === undefined || !Buffer.concat(chunks).includes(answer.to)) return;
    isAnswered = true;
    type(answer.keys);
  });
  onStart?.(child, type);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', code => resolve({code: code ?? 128, output: Buffer.concat(chunks)}));
  });
};
