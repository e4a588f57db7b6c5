import {Readable, Writable} from 'node:stream';
import type {Terminal} from '../../../cli/command-line/terminal.ts';
import {run} from '../../../cli/program.ts';

export interface FakeTerminalOptions {
  env?: Record<string, string>;
  /** Several texts are typed one after the other. */
  input?: string | string[];
  /** Columns of the terminal; the streams are pipes when this is left out. */
  columns?: number;
  /** Ctrl-C. */
  interrupts?: EventTarget;
}

export interface FakeTerminal extends Terminal {
  out(): string;
  err(): string;
}

export const createFakeTerminal = ({env = {}, input = '', columns, interrupts}: FakeTerminalOptions = {}): FakeTerminal => {
  const isTTY = columns !== undefined;
  const [stdout, stderr] = [createSink(), createSink()];
  return {
    env,
    stdin: Object.assign(Readable.from([input].flat().filter(text => text !== '')), {isTTY}),
    stdout: Object.assign(stdout.stream, {isTTY, columns}),
    stderr: Object.assign(stderr.stream, {isTTY, columns}),
    onInterrupt: listener => {
      interrupts?.addEventListener('interrupt', listener);
      return () => interrupts?.removeEventListener('interrupt', listener);
    },
    out: stdout.text,
    err: stderr.text,
  };
};

/** Runs one command line in this process, as `mfctl` would. */
export const runCli = async (argv: string[], options: FakeTerminalOptions = {}) => {
  const terminal = createFakeTerminal(options);
  const code = await run(argv, terminal);
  return {code, stdout: terminal.out(), stderr: terminal.err()};
};

const createSink = () => {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  return {stream, text: () => Buffer.concat(chunks).toString('utf8')};
};
