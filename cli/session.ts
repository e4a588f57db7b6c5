// Session of one run: flags, environment, and the services that commands use.
import type {Command} from 'commander';
import type {ClusterStatus} from '../shared/cluster-status.ts';
import {safeBlock, safeLine} from '../shared/safe-text.ts';
import type {Move} from './client/addresses.ts';
import type {Client} from './client/client.ts';
import {type Connection, type ConnectionFlags, resolveConnection} from './client/connection.ts';
import {createRetry, type Retry, type RetryFlags, retryBudgetMs, sleepUnlessInterrupted} from './client/retry.ts';
import type {TransportOptions} from './client/transport.ts';
import {agree, confirm} from './command-line/question.ts';
import type {Terminal} from './command-line/terminal.ts';
import {type ContextStore, createContextStore} from './files/context-store.ts';
import {type DeclaredOutput, fieldsHelp, type OutputPlan, planOutput} from './output/declared-output.ts';
import {type OutputFlags, outputFormat} from './output/output-format.ts';
import {createPrinter, type Printer} from './output/printer.ts';
import type {Fields} from './output/table.ts';

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
  /** The command line without the program's name. */
  readonly argv: readonly string[];
  readonly contexts: ContextStore;
  flags(): GlobalFlags;
  /** Declares what a command prints, when the command is defined. Returns the command. */
  prints(command: Command, fields: Fields<never>): Command;
  /** The declared output of a command. */
  fieldsOf(command: Command): Fields<never> | undefined;
  /** Rejects output options that the command cannot serve, before it runs. */
  prepareOutput(command: Command): Promise<void>;
  /** The prepared output, for commands that print without a printer. */
  outputPlan(): OutputPlan;
  printer(): Printer;
  /** Read once: the key may come from standard input. */
  connection(): Promise<Connection>;
  /** Of another context; flags and environment are ignored. */
  connectionOf(context: string): Promise<Connection>;
  client(): Promise<Client>;
  /**
   * For another connection than that of the flags, the environment and the context. Without `retry` it never waits. Without `onMove` it prints
   * a note when it moves to another node.
   */
  clientFor(connection: Connection, options?: ClientOptions): Promise<Client>;
  /** Retries that wait as long as `--retry-for` allows, and report that. */
  patience(): Retry;
  /** Rejects unless the answer is yes. */
  confirm(question: string, isAgreed: boolean | undefined): Promise<void>;
  /** Asks a question that may be answered with no; for a terminal only. */
  agree(question: string): Promise<boolean>;
  /** Prints a line with `--verbose`. */
  log(line: string): void;
  /** Keeps the addresses of other nodes that a command has read in its context. Called when it has succeeded; never rejects. */
  keepAddresses(): Promise<void>;
  /** Prints one line, at the end of a command, about the deprecated features that it used, unless `--quiet`. */
  warnOfDeprecations(): void;
}

type ClientOptions = Pick<TransportOptions, 'retry' | 'onMove' | 'end' | 'readSilenceMs'>;

interface SessionNeeds {
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
  const reportMove = ({from, to, why, detail}: Move): void => {
    log(detail);
    printer().note(`${from} ${why}, asking ${to}`);
  };
  let read: {connection: Connection; status: ClusterStatus} | undefined;
  const clientFor = async (to: Connection, options: ClientOptions = {}): Promise<Client> => {
    const {createClient} = await import('./client/client.ts');
    const onStatus = (status: ClusterStatus): void => {
      read = {connection: to, status};
    };
    return createClient({connection: to, version, log, onDeprecated: deprecations.add, onMove: reportMove, onStatus, ...options});
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
    async keepAddresses() {
      const context = read?.connection.context;
      if (!read || !context) return;
      try {
        const {learnedAddresses} = await import('./cluster/other-addresses.ts');
        const others = learnedAddresses(read.connection, read.status);
        if (others === undefined) return;
        await contexts.putOthers(context, others);
        log(`the context ${context.name} has the addresses of other nodes: ${others.join(', ')}`);
      } catch (error) {
        // The command has done what it was asked for, and its user may have no right to change the file.
        log(`the addresses of other nodes were not kept: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
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

/** Some commands run for hours, and the node controls the headers. */
const maxDeprecations = 10;

const createDeprecations = () => {
  const found = new Set<string>();
  return {
    add: (text: string): void => {
      if (found.size < maxDeprecations) found.add(text);
    },
    warn: (stderr: Terminal['stderr']): void => {
      if (found.size > 0) stderr.write(`warning: ${safeLine([...found].join('; '))}\n`);
    },
  };
};

/** https://no-color.org: any value but the empty one turns colours off. */
export const isColour = (stream: {isTTY?: boolean | undefined}, {env}: Terminal, {color}: Pick<GlobalFlags, 'color'>): boolean =>
  Boolean(stream.isTTY) && color && !env.NO_COLOR && env.TERM !== 'dumb';
