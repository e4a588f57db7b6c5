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

/** `onLost` hears of what standard output has no room for; with standard error there is nobody left to tell. */
export const processTerminal = (onLost: (error: NodeJS.ErrnoException) => void = () => undefined): Terminal => {
  const {env, stdout, stderr} = process;
  stderr.on('error', () => undefined);
  // `mfctl … | head` closes the pipe while there is still something to say; that is no failure.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') onLost(error);
  });
  return {
    env,
    // Most commands read none, and to open it takes a tenth of what they take.
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

/** Everything on standard input, as text; nothing is read beyond `mostBytes` and the chunk that they end in. */
export const readStdin = async (terminal: Terminal, mostBytes = Number.POSITIVE_INFINITY): Promise<string> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of terminal.stdin) {
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    size += chunk.length;
    if (size > mostBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8');
};
