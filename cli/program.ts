import {Command, CommanderError, Option} from 'commander';
import manifest from '../package.json' with {type: 'json'};
import {addApiCommand, addMetricsCommand, addOpenapiCommand} from './api/api.ts';
import {addAuditCommand} from './audit/audit.ts';
import {addClusterCommands} from './cluster/cluster.ts';
import {reportUnknown} from './cluster/cluster-verdict.ts';
import {durationOrNone, shownMoment} from './command-line/moment.ts';
import type {Terminal} from './command-line/terminal.ts';
import {withTypedFields} from './command-line/typed-fields.ts';
import {addAliases, readWords} from './command-line/typed-words.ts';
import {commandPath, refuseContradictions, usageFailure} from './command-line/usage-failure.ts';
import {addCompletionCommands} from './completion/completion-commands.ts';
import {addContextCommands} from './context/context.ts';
import {addLoginCommand} from './context/login.ts';
import {addDashboardCommand} from './dashboard/command.ts';
import {addDmarcCommands} from './dmarc/dmarc.ts';
import {addDomainCommands} from './domain/domain.ts';
import {asCliError, CliError, ExitStatus, exitCodes} from './errors.ts';
import {addEventsCommand} from './events/events.ts';
import {addGlobalFilterCommands} from './filter/filter.ts';
import {addHelpCommand, foldParagraphs, groupCommands} from './help/help.ts';
import {helpTopics} from './help/help-topics.ts';
import {addKeyCommands, addWhoamiCommand} from './key/key.ts';
import {failureReport} from './output/failure-report.ts';
import {type OutputFormat, outputFormat, outputFormats} from './output/output-format.ts';
import {addQuarantineCommands} from './quarantine/quarantine.ts';
import {createSession, type GlobalFlags, isColour, type Session} from './session.ts';
import {addTraceCommands} from './trace/trace.ts';
import {addWebhookCommands} from './webhook/webhook.ts';

export const run = async (argv: readonly string[], terminal: Terminal): Promise<number> => {
  const {program, session} = createCommands(argv, terminal);

  if (argv.length === 0) {
    program.outputHelp();
    return exitCodes.ok;
  }
  try {
    await program.parseAsync(argv, {from: 'user'});
    await session.keepAddresses();
    return exitCodes.ok;
  } catch (thrown) {
    if (thrown instanceof ExitStatus) {
      if (thrown.status === exitCodes.ok) await session.keepAddresses();
      return thrown.status;
    }
    // Help and version arrive as exceptions too.
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return exitCodes.ok;
    if (thrown instanceof CommanderError && thrown.code === 'commander.help') return exitCodes.usage;
    const error = errorOf(thrown, program, argv);
    if (error.code === 'bug') session.log((error.cause as Error).stack ?? '');
    if (commandPath(program, argv) === 'mfctl cluster check') return reportUnknown(terminal, error);
    terminal.stderr.write(failureReport(error, reportStyle(terminal, program.opts<GlobalFlags>())));
    return error.exitCode;
  } finally {
    session.warnOfDeprecations();
  }
};

/** The whole command line as commander knows it, and the session of its commands. Nothing runs yet. */
export const createCommands = (argv: readonly string[], terminal: Terminal): {program: Command; session: Session} => {
  const urls: string[] = [];
  const program = createProgram(terminal, urls);
  const flags = () => ({...program.opts<GlobalFlags>(), urls});
  const session = createSession({terminal, version: manifest.version, argv, flags});
  addCommands(program, session);
  addAliases(program);
  groupCommands(program);
  program.hook('preAction', async (_, command) => {
    refuseContradictions(program, argv);
    await session.prepareOutput(command);
    for (const text of shownMoments(program, argv)) session.printer().note(text);
  });
  return {program, session};
};

/** `--since 12:30` means another moment on another day, or on a machine in another zone. */
const shownMoments = (program: Command, argv: readonly string[]): string[] =>
  [...readWords(program, argv).given].flatMap(([{long, flags, parseArg}, values]) =>
    values.flatMap(value => {
      const moment = shownMoment(value, parseArg, Date.now());
      return moment === undefined ? [] : [`${long ?? flags} ${value} is ${moment}`];
    }),
  );

/** Every --url is added to `urls`. Commands other than `context add` use the last one. */
const createProgram = (terminal: Terminal, urls: string[]): Command =>
  new Command('mfctl')
    .description('Manage a cluster of mail-filtering gateways: its quarantine, domains and keys')
    .version(`mfctl ${manifest.version}`, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .option('-c, --context <name>', 'the context to use in place of the current one (MFCTL_CONTEXT)')
    .option('--url <url>', 'address of a node, such as https://mx1.example.com:8443 (MFCTL_URL)', url => {
      urls.push(url);
      return url;
    })
    .option('--api-key-file <file>', 'file that holds the API key, - for standard input (MFCTL_API_KEY_FILE, MFCTL_API_KEY)')
    .option('--cacert <file>', 'certificate to trust, PEM (MFCTL_CACERT)')
    .addOption(new Option('-o, --output <format>', 'output format (MFCTL_OUTPUT, else table)').choices(outputFormats))
    .option('--json <fields>', 'print these fields only, as JSON, such as id,name; the help of a command lists its fields')
    .option(
      '--retry-for <duration>',
      'how long to retry when a node is busy; 0s for no retries (MFCTL_RETRY_FOR, else 30s)',
      durationOrNone,
    )
    .option('--no-color', 'no colours (NO_COLOR)')
    .option('-q, --quiet', 'print data, warnings and errors only')
    .option('-v, --verbose', 'report each request on standard error')
    .exitOverride()
    .configureOutput({
      writeOut: text => terminal.stdout.write(foldParagraphs(text, helpWidth(terminal.stdout))),
      writeErr: text => terminal.stderr.write(text),
      getOutHelpWidth: () => helpWidth(terminal.stdout),
      getErrHelpWidth: () => helpWidth(terminal.stderr),
      // Reported by `run`, like every other error.
      outputError: () => undefined,
    });

const addCommands = (program: Command, session: Session): void => {
  addLoginCommand(program, session);
  addContextCommands(program, session);
  addWhoamiCommand(program, session);
  addKeyCommands(program, session);
  addDomainCommands(program, session);
  addGlobalFilterCommands(program, session);
  addQuarantineCommands(program, session);
  addClusterCommands(program, session);
  addDmarcCommands(program, session);
  addTraceCommands(program, session);
  addWebhookCommands(program, session);
  addAuditCommand(program, session);
  addEventsCommand(program, session);
  addMetricsCommand(program, session);
  addOpenapiCommand(program, session);
  addApiCommand(program, session);
  addDashboardCommand(program, session);
  addCompletionCommands(program, session);
  addHelpCommand(program, session);
  program.addHelpText('after', closingHelp);
  program.addHelpText('afterAll', ({command}) =>
    command === program ? '' : '\nOptions of all commands, such as -c, -o and -q: mfctl --help',
  );
};

const closingHelp = `
Examples:
  mfctl quarantine list --domain example.com --since 2h
  mfctl quarantine release NODE/QUEUE
  mfctl domain create example.com --backend mail.example.com:25
  mfctl quarantine list -o ndjson --reason phishing

Exit status:
  0 done           3 cancelled          6 a part of it failed
  1 failed         4 not authorised     7 unreachable or rate-limited
  2 wrong usage    5 not found        130 interrupted

More: mfctl help COMMAND, and on ${helpTopics.map(({name}) => name).join(', ')}: mfctl help TOPIC`;

const helpWidth = ({isTTY, columns}: Terminal['stdout']): number => (isTTY ? columns || 80 : 100);

const errorOf = (thrown: unknown, program: Command, argv: readonly string[]): CliError => {
  if (thrown instanceof CliError) {
    const typed = readWords(program, argv);
    const error = typed.command.name() === 'api' ? thrown : withTypedFields(thrown, typed);
    return isAboutArguments(error) ? error.with({hint: `${commandPath(program, argv)} --help`}) : error;
  }
  if (thrown instanceof CommanderError) return usageFailure(thrown, program, argv);
  return asCliError(thrown);
};

/** Maps field errors of a node to the words that were typed. */
const isAboutArguments = ({code, hint}: CliError): boolean =>
  hint === undefined && ['validation_failed', 'invalid_parameter', 'malformed_json'].includes(code);

/** The wrong option may be the output format itself, which cannot be used to report the error then. */
const reportStyle = (terminal: Terminal, flags: GlobalFlags): {format: OutputFormat; isColour: boolean} => {
  const style = {isColour: isColour(terminal.stderr, terminal, flags)};
  try {
    return {...style, format: outputFormat(terminal, flags)};
  } catch {
    return {...style, format: 'table'};
  }
};
