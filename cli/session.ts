// One run of the program: what the flags and the environment say, and what commands do their work with.
import type {Command} from 'commander';
import {safeBlock, safeLine} from '../shared/safe-text.ts';
import type {Move} from './client/addresses.ts';
import type {Client} from './client/client.ts';
import {type Connection, type ConnectionFlags, resolveConnection} from './client/connection.ts';
import type {EndingNeeds} from './client/ending-transport.ts';
import {createRetry, type Retry, type RetryFlags, retryBudgetMs, sleepUnlessInterrupted} from './client/retry.ts';
import type {TransportNeeds} from './client/transport.ts';
import {agree, confirm} from './command-line/question.ts';
import type {Terminal} from './command-line/terminal.ts';
import {type ContextStore, createContextStore} from './context/context-store.ts';
import {type DeclaredOutput, fieldsHelp, type OutputPlan, planOutput} from './output/declared-output.ts';
import {type OutputFlags, outputFormat} from './output/output-format.ts';
import {createPrinter, type Printer} from './output/printer.ts';
import type {Fields} from './output/resource.ts';

export interface GlobalFlags extends ConnectionFlags, OutputFlags, RetryFlags {
  /** Every `--url`, in order. */
  urls?: readonly string[];
  color: boolean;
  quiet?: boolean;
  verbose?: boolean;
}

export interface Session {
  readonly terminal: Terminal;
  readonly version: string;
  /** What was typed, without the program's name. */
  readonly argv: readonly string[];
  readonly contexts: ContextStore;
  flags(): GlobalFlags;
  /** Says of a command, when it is defined, what it prints. Returns the command. */
  prints(command: Command, fields: Fields<never>): Command;
  /** What a command was said to print. */
  fieldsOf(command: Command): Fields<never> | undefined;
  /** Before a command is run: refuses what cannot be printed, while nothing has been done. */
  prepareOutput(command: Command): Promise<void>;
  /** As it was prepared, for what does not print with a printer. */
  outputPlan(): OutputPlan;
  printer(): Printer;
  /** Read once: the key may come from standard input. */
  connection(): Promise<Connection>;
  /** Of another context, whatever flags and the environment say. */
  connectionOf(context: string): Promise<Connection>;
  client(): Promise<Client>;
  /**
   * For another connection than that of the flags, the environment and the context. Without `retry` it never waits. Without `onMove` it prints
   * a note when it moves to another node.
   */
  clientFor(connection: Connection, options?: ClientOptions): Promise<Client>;
  /** Waits as long as `--retry-for` says, and says so. */
  patience(): Retry;
  /** Rejects unless the answer is yes. */
  confirm(question: string, isAgreed: boolean | undefined): Promise<void>;
  /** Asks what may be answered with no; for a terminal only. */
  agree(question: string): Promise<boolean>;
  /** A line about what is being done, for `--verbose`. */
  log(line: string): void;
  /** At the end of a command: one line about what it used that will be removed, unless `--quiet`. */
  warnOfDeprecations(): void;
}

export type ClientOptions = Pick<TransportNeeds, 'retry' | 'onMove'> & EndingNeeds;

export interface SessionNeeds {
  terminal: Terminal;
  version: string;
  argv: readonly string[];
  /** Known only once commander has read the command line. */
  flags: () => GlobalFlags;
}

export const createSession = ({terminal, version, argv, flags}: SessionNeeds): Session => {
  const contexts = createContextStore(terminal);
  const declared: DeclaredOutput = new Map();
  let plan: OutputPlan | undefined;
  const printer = (): Printer =>
    createPrinter(terminal, {
      format: outputFormat(terminal, flags()),
      ...plan,
      isColour: isColour(terminal.stdout, terminal, flags()),
      isQuiet: flags().quiet ?? false,
    });
  const log = (line: string): void => {
    if (flags().verbose) terminal.stderr.write(`${safeBlock(line)}\n`);
  };
  const deprecations = createDeprecations();
  let resolved: Promise<Connection> | undefined;
  const connection = (): Promise<Connection> => {
    resolved ??= resolveConnection(terminal, flags(), contexts);
    return resolved;
  };
  const sayMove = ({from, to, why, detail}: Move): void => {
    log(detail);
    printer().note(`${from} ${why}, asking ${to}`);
  };
  const clientFor = async (to: Connection, options: ClientOptions = {}): Promise<Client> => {
    const {createClient} = await import('./client/client.ts');
    return createClient({connection: to, version, log, onDeprecated: deprecations.add, onMove: sayMove, ...options});
  };
  const patience = () => createPatience(terminal, flags());

  return {
    terminal,
    version,
    argv,
    contexts,
    flags,
    prints: (command, fields) => {
      declared.set(command, fields);
      return command.addHelpText('after', () => fieldsHelp(command, fields));
    },
    fieldsOf: command => declared.get(command),
    prepareOutput: async command => {
      plan = await planOutput(terminal, flags(), {command, declared});
    },
    outputPlan: () => plan ?? {format: outputFormat(terminal, flags()), choice: undefined, toYaml: undefined},
    printer,
    log,
    agree: async question => agree(terminal, question),
    confirm: (question, isAgreed) => confirm(terminal, question, isAgreed),
    connection,
    connectionOf: context => resolveConnection({...terminal, env: {}}, {context}, contexts),
    clientFor,
    patience,
    client: async () => clientFor(await connection(), {retry: patience()}),
    warnOfDeprecations: () => {
      if (!flags().quiet) deprecations.warn(terminal.stderr);
    },
  };
};

const createPatience = (terminal: Terminal, flags: GlobalFlags): Retry =>
  createRetry({
    budgetMs: retryBudgetMs(terminal, flags),
    now: Date.now,
    sleep: (ms, signal) => sleepUnlessInterrupted(terminal, ms, signal),
    say: text => {
      if (flags.verbose || (terminal.stderr.isTTY && !flags.quiet)) terminal.stderr.write(`${safeLine(text)}\n`);
    },
  });

/** Some commands ask for hours, and it is the node that decides what its headers say. */
const mostDeprecations = 10;

const createDeprecations = () => {
  const found = new Set<string>();
  return {
    add: (text: string): void => {
      if (found.size < mostDeprecations) found.add(text);
    },
    warn: (stderr: Terminal['stderr']): void => {
      if (found.size > 0) stderr.write(`warning: ${safeLine([...found].join('; '))}\n`);
    },
  };
};

/** https://no-color.org: any value but the empty one means no. */
export const isColour = (stream: {isTTY?: boolean | undefined}, {env}: Terminal, {color}: Pick<GlobalFlags, 'color'>): boolean =>
  Boolean(stream.isTTY) && color && !env.NO_COLOR && env.TERM !== 'dumb';
