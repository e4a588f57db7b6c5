// Standard streams, environment and signals of one run, which tests replace.
import {readUpTo} from './read-up-to.ts';

interface Output {
  write(text: string | Uint8Array): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

export interface Terminal {
  env: Readonly<Record<string, string | undefined>>;
  stdin: NodeJS.ReadableStream & {isTTY?: boolean | undefined};
  stdout: Output & NodeJS.WritableStream;
  stderr: Output & NodeJS.WritableStream;
  /** Calls `listener` on Ctrl-C, which does not end the program then. Returns a function that removes the listener. */
  onInterrupt(listener: () => void): () => void;
}

/** `onLost` gets write errors of standard output; those of standard error can be shown nowhere. */
export const processTerminal = (onLost: (error: NodeJS.ErrnoException) => void = () => undefined): Terminal => {
  const {env, stdout, stderr} = process;
  stderr.on('error', () => undefined);
  // `mfctl … | head` closes the pipe before the output ends; that is not a failure.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') onLost(error);
  });
  return {
    env,
    // Opened when it is first read: most commands read no input, and opening it takes a tenth of their time.
    get stdin() {
      return process.stdin;
    },
    stdout,
    stderr,
    onInterrupt: listener => {
      process.on('SIGINT', listener);
      return () => void process.off('SIGINT', listener);
    },
  };
};

/** Everything on standard input, as text; reading stops with the chunk that exceeds `maxBytes`. */
export const readStdin = async (terminal: Terminal, maxBytes = Number.POSITIVE_INFINITY): Promise<string> =>
  (await readUpTo(terminal.stdin, maxBytes)).toString('utf8');
