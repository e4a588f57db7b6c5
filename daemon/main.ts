// Command line of mfd: reads arguments, prints results, and decides the exit status (0 done, 1 failed, 2 wrong usage or configuration).
import {Command, CommanderError} from 'commander';
import packageJson from '../package.json' with {type: 'json'};
import {Fault} from '../shared/fault.ts';
import {formatHostPort} from '../shared/host-port.ts';
import {safeLine} from '../shared/safe-text.ts';
import {fileReason} from '../shared/system-error.ts';
import {asOwnerOf, ReadFolderOption, requireOwner} from './commands/as-owner.ts';
import {bootstrapKey} from './commands/bootstrap-key.ts';
import {certificateWarnings, checkConfig} from './commands/check-config.ts';
import {type InitReport, initialise} from './commands/init.ts';
import {type JoinReport, joinCluster} from './commands/join.ts';
import {addMfctlContext} from './commands/mfctl-context.ts';
import {addMigrateCommand} from './commands/migrate.ts';
import {findUninitialised, type NewNodeOptions, settingsIn} from './commands/new-node.ts';
import {repair} from './commands/repair.ts';
import {addSetupCommand} from './commands/setup.ts';
import {type StartOptions, start} from './commands/start.ts';
import {checkStore} from './commands/store-options.ts';
import {addHelpCommand, explainUsageErrors, refuseRepeatedOptions, requireFolder} from './commands/usage-errors.ts';
import {ConfigError, loadConfig} from './config/load.ts';
import {CommandError, UsageError} from './node/command-error.ts';
import {dataFolder} from './node/data-folder.ts';
import {isJournal, withPriority} from './node/log.ts';
import type {RunningNode} from './node/node.ts';
import {awayReason, postgresErrorText} from './store/postgres/connection.ts';
import {StoreRefusal} from './store/postgres/inspect.ts';
import {databaseErrorText, isDamaged, isOtherSchema} from './store/sqlite/database.ts';

export const main = async (args: string[]): Promise<number> => {
  // Only the owner may read databases, keys and mail, whatever umask the caller has.
  process.umask(0o077);
  try {
    await program().parseAsync(args, {from: 'user'});
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    return report(error);
  }
};

/** The command line, as commander describes it. Nothing runs yet. */
export const program = (): Command => {
  const mfd = new Command('mfd')
    .description('A node of the mail-filtering cluster')
    .version(packageJson.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .exitOverride()
    .addHelpText(
      'after',
      '\nExamples:\n  mfd init --data /var/lib/mfd --fqdn mx1.example.com\n  mfd start --data /var/lib/mfd\n  mfd join - --data /var/lib/mfd --fqdn mx2.example.com < token',
    );

  addInitCommand(mfd);
  addJoinCommand(mfd);
  addStartCommand(mfd);
  addCheckConfigCommand(mfd);
  addBootstrapKeyCommand(mfd);
  addRepairCommand(mfd);
  addMigrateCommand(mfd, print, warn);
  addSetupCommand(mfd, print);
  addHelpCommand(mfd);
  explainUsageErrors(mfd);
  refuseRepeatedOptions(mfd);
  mfd.hook('preAction', async (_, command) => {
    const {data} = command.opts<{data?: string}>();
    if (data === undefined) return;
    await requireFolder(data);
    await requireOwner(data, command);
  });
  return mfd;
};

const addInitCommand = (mfd: Command): void => {
  withListenOptions(mfd.command('init'))
    .description('create a node in an empty folder, or in one that has only your mfd.yaml, and print its first API key')
    .option('--json', 'print one JSON object')
    .action(async (options: NewNodeOptions & {json?: boolean}) => {
      const settings = await withEnvironment(options);
      const made = await asOwnerOf(options.data, async () => initialise(settings, {warn}));
      const note = await addMfctlContext(made);
      print(options.json ? JSON.stringify(made) : welcome(made));
      process.stderr.write(`${note}\n`);
    });
};

const addJoinCommand = (mfd: Command): void => {
  withListenOptions(mfd.command('join'))
    .argument(
      '<token>',
      'from mfctl cluster token; - reads it from standard input, because every user of a machine can see arguments',
    )
    .description('create a node of an existing cluster in an empty folder, or in one that has only your mfd.yaml')
    .option('--json', 'print one JSON object')
    .action(async (token: string, options: NewNodeOptions & {json?: boolean}) => {
      const settings = await withEnvironment(options);
      const text = token === '-' ? await standardInput() : token;
      const {joined, warnings} = await asOwnerOf(options.data, async () =>
        joinCluster(text, {...settings, version: packageJson.version}),
      );
      print(options.json ? JSON.stringify(joined) : joinedText(joined));
      for (const warning of warnings) process.stderr.write(`warning: ${safeLine(warning)}\n`);
    });
};

const addStartCommand = (mfd: Command): void => {
  const startCommand = mfd
    .command('start')
    .requiredOption('--data <dir>', 'data directory')
    .option(
      '--init',
      'create a node first, in a folder that is absent, empty, or has only your mfd.yaml; the options below are for the new node',
    );
  withNodeOptions(startCommand)
    .description('run the node in the foreground')
    .action(async (options: StartOptions) =>
      start(options, {environment: process.env, version: packageJson.version, print, warn, texts: {welcome, firstSteps}}),
    );
};

const addCheckConfigCommand = (mfd: Command): void => {
  mfd
    .command('check-config')
    .description('check mfd.yaml and the files it names, and warn about certificates that will expire soon')
    .addOption(new ReadFolderOption())
    .action(async ({data}: {data: string}) => {
      const folder = dataFolder(data);
      const loaded = await loadConfig(folder.config, process.env);
      await checkConfig(loaded);
      for (const variable of loaded.unknownVariables) warn(`${variable} names no configuration key, and has no effect`);
      for (const warning of await certificateWarnings(folder, loaded, Date.now())) warn(warning);
      for (const warning of await checkStore(folder, loaded)) warn(warning);
      print(`${folder.config} is fine`);
    });
};

const addBootstrapKeyCommand = (mfd: Command): void => {
  mfd
    .command('bootstrap-key')
    .description(
      'create a new full-admin key without the API, as the owner of the data directory or root; a running node knows it at once',
    )
    .requiredOption('--data <dir>', 'data directory')
    .option('--force', 'even if an active full-admin key exists')
    .action(async ({data, force}: {data: string; force?: boolean}) =>
      print(await asOwnerOf(data, async () => bootstrapKey(data, force ?? false))),
    );
};

const addRepairCommand = (mfd: Command): void => {
  mfd
    .command('repair')
    .description('rebuild a damaged database from its readable part and the spool; stop the node first')
    .requiredOption('--data <dir>', 'data directory')
    .action(async ({data}: {data: string}) => asOwnerOf(data, async () => repair(data, print)));
};

/** Adds addresses from the environment to the options when the folder has no configuration, which the environment would override. */
const withEnvironment = async (options: NewNodeOptions): Promise<NewNodeOptions> => {
  const empty = await findUninitialised(options.data);
  return {...(empty?.isConfigured === false && settingsIn(process.env)), ...options};
};

const withListenOptions = (command: Command): Command =>
  withNodeOptions(command.requiredOption('--data <dir>', 'data directory, empty or absent'));

const withNodeOptions = (command: Command): Command =>
  command
    .option('--node-id <id>', 'name of the node in the cluster')
    .option('--fqdn <name>', 'host name of the node')
    .option('--api-listen <host:port>', 'HTTPS API (default: 0.0.0.0:8443)')
    .option('--api-advertise <host:port>', 'where clients reach the API, as behind NAT (default: fqdn and port)')
    .option('--cluster-listen <host:port>', 'mutual TLS between nodes (default: 0.0.0.0:8444)')
    .option('--cluster-advertise <host:port>', 'where other nodes reach this one (default: fqdn and port)')
    .option('--metrics-listen <host:port>', 'metrics over HTTP (default: 127.0.0.1:9090)')
    .option('--smtp-listen <host:port>', 'SMTP gateway (default: 127.0.0.1:2525)')
    .option('--store-url <url>', 'PostgreSQL that all nodes share, as postgres://USER@HOST:PORT/DB (default: SQLite in DIR)')
    .option('--store-password-file <file>', 'file with the password for --store-url')
    .option('--store-ca-file <file>', 'authority (PEM) of the database server (default: those of the system)');

const welcome = ({node_id, data, api_url, api_key, ca_file}: InitReport): string => `\
Node ${node_id} created in ${data}
  API      ${api_url}
  CA file  ${ca_file}
  API key  ${api_key}
The key is not shown again. It has full admin rights: store it safely.`;

const joinedText = ({node_id, data, api_url, ca_file}: JoinReport): string => `\
Node ${node_id} has joined the cluster, in ${data}
  API      ${api_url}
  CA file  ${ca_file}
The API keys of the cluster are valid here too. Go on with:
  mfd start --data ${data}
  mfctl context add ${node_id} --url ${api_url} --cacert ${ca_file} --api-key-file KEY-FILE`;

const standardInput = async (): Promise<string> => {
  if (process.stdin.isTTY) process.stderr.write('Paste the token, then press Enter and Ctrl-D:\n');
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
};

const firstSteps = ({addresses: {smtp}}: RunningNode): string => `
Protect a domain, send it a suspicious mail, and see it held (npm run sink is a backend to try with):
  mfctl domain create example.com --backend 127.0.0.1:2526
  swaks --server ${formatHostPort(smtp)} --from a@example.net --to b@example.com --header "X-Spam-Score: 8.5"
  mfctl quarantine list
  mfctl quarantine release NODE/QUEUE-ID
`;

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const warn = (text: string): void => {
  process.stderr.write(`mfd: warning: ${safeLine(text)}\n`);
};

const report = (error: unknown): number => {
  const isExpected = [ConfigError, CommandError, StoreRefusal].some(kind => error instanceof kind);
  const text = error instanceof Error ? error.message : String(error);
  // A configuration key in the message may contain any characters.
  const line = `mfd: ${safeLine(isExpected ? text : describe(error, text))}\n`;
  process.stderr.write(isJournal(process.env) ? withPriority('error', line) : line);
  return error instanceof ConfigError || error instanceof UsageError ? 2 : 1;
};

/** Describes a system error in one line, without a stack. */
const describe = (error: unknown, text: string): string => {
  const {code, address, port} = error as {code?: string; address?: string; port?: number};
  // Node sets the port of a unix socket to -1.
  const isPath = address?.startsWith('/') ?? false;
  const where = address === undefined ? '' : ` ${address}${isPath || port === undefined ? '' : `:${port}`}`;
  if (code === 'EADDRINUSE') return `the address${where} is in use; stop what listens there, or choose another one in mfd.yaml`;
  if (isPath && (code === 'EACCES' || code === 'ENOENT' || code === 'EROFS'))
    return `cannot listen on${where}: its folder does not exist, or this user may not write to it; for a Postfix on this host mfd setup postfix --apply makes it`;
  if (code === 'EACCES' && where) return `no permission to listen on${where}`;
  if (code === 'EADDRNOTAVAIL') return `the address${where} is not one of this machine`;
  const line = fileFailureText(error) ?? text.split('\n')[0] ?? text;
  return storeErrorText(error, line) ?? line;
};

/** `ENOENT: no such file or directory, mkdir '/proc/x'` */
const fileFailureText = (error: unknown): string | undefined => {
  const {code, path, syscall} = error as NodeJS.ErrnoException;
  if (!(error instanceof Error) || code === undefined || path === undefined || syscall === 'connect') return undefined;
  return `cannot ${syscall === 'mkdir' ? 'make the folder' : 'use'} ${path}: ${fileReason(error)}`;
};

const storeErrorText = (error: unknown, line: string): string | undefined => {
  if (!(error instanceof Error)) return undefined;
  // A Fault of the store is for callers of the API: its cause says what happened.
  if (error instanceof Fault && error.code === 'unavailable' && error.cause !== undefined)
    return `${error.detail}: ${awayReason(error.cause)}`;
  const serverText = postgresErrorText(error);
  if (serverText !== undefined) return `the store cannot be used: ${serverText}`;
  const databaseText = databaseErrorText(error);
  if (isDamaged(error) || isOtherSchema(error))
    return `the database cannot be used: ${databaseText ?? line}; mfd repair rebuilds it from what can be read`;
  return databaseText === undefined ? undefined : `the database cannot be used: ${databaseText}`;
};
