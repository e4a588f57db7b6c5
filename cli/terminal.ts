// What a run of the program touches outside itself, gathered so that a test can hand in its own.

export interface Output {
  write(text: string | Uint8Array): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

export interface Terminal {
  env: Readonly<Record<string, string | undefined>>;
  stdin: NodeJS.ReadableStream & {isTTY?: boolean | undefined};
  stdout: Output & NodeJS.WritableStream;
  stderr: Output & NodeJS.WritableStream;
  /** Calls `listener` in place of ending the program when Ctrl-C is pressed, until what it returns is called. */
  onInterrupt(listener: () => void): () => void;
}

export const processTerminal = (): Terminal => {
  const {env, stdin, stdout, stderr} = process;
  // `mfctl … | head` closes the pipe while there is still something to say; that is no failure.
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
  return {
    env,
    stdin,
    stdout,
    stderr,
    onInterrupt: listener => {
      process.on('SIGINT', listener);
      return () => void process.off('SIGINT', listener);
    },
  };
};

/** Everything on standard input, as text. */
export const readStdin = async (terminal: Terminal): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of terminal.stdin) chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks).toString('utf8');
};
