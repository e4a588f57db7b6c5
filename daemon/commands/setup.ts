// `mfd setup`: the command line of daemon/setup.
import {stat} from 'node:fs/promises';
import {join, resolve} from 'node:path';
import {type Command, Option} from 'commander';
import {loadConfig} from '../config/load.ts';
import {CommandError, UsageError} from '../node/command-error.ts';
import {dataFolder} from '../node/data-folder.ts';
import {standardPaths} from '../setup/mail-system.ts';
import {SetupError} from '../setup/setup-error.ts';
import {setupPostfix} from '../setup/setup-postfix.ts';
import {asOwnerOf, ReadFolderOption} from './as-owner.ts';

interface Options {
  data: string;
  configDir?: string;
  recipients?: boolean;
  rspamdDir?: string;
  apply?: boolean;
  undo?: boolean;
}

export const addSetupCommand = (mfd: Command, print: (text: string) => void): void => {
  const setup = mfd.command('setup').description('connect a mail system of this host with this node');
  setup
    .command('postfix')
    .description('show, write or undo the settings that make Postfix ask this node about mail')
    .addOption(new ReadFolderOption())
    .option('--config-dir <dir>', 'folder of Postfix’s main.cf (default: postfix.config_dir of mfd.yaml, or /etc/postfix)')
    .option('--recipients', 'make Postfix refuse recipients that the server of their domain does not know')
    .option('--rspamd-dir <dir>', 'folder of Rspamd’s rspamd.conf (default: /etc/rspamd)')
    .option('--apply', 'write the settings, and keep copies of the files; needs root')
    .addOption(new Option('--undo', 'undo --apply, and keep what was changed since; needs root').conflicts('apply'))
    .addHelpText('after', help)
    .action(async (options: Options) => print(await run(options)));
};

const help = `
Without --apply or --undo nothing is written. --apply adds to the lists in main.cf and removes nothing, runs postfix
check on the result, and restores everything if that fails. A second run changes nothing. Nothing is reloaded: restart
mfd first, then reload Postfix, which lets all mail wait while it cannot ask mfd.

Examples:
  mfd setup postfix --data /var/lib/mfd
  mfd setup postfix --data /var/lib/mfd --apply
  mfd setup postfix --data /var/lib/mfd --undo`;

const run = async (options: Options): Promise<string> => {
  const action = options.apply ? 'apply' : options.undo ? 'undo' : 'print';
  if (action !== 'print' && process.getuid?.() !== 0)
    throw new CommandError(
      'this changes the configuration of Postfix: run it as root, or without --apply to see what it would write',
    );
  if (options.configDir !== undefined && !(await isThere(options.configDir)))
    throw new UsageError(`--config-dir ${options.configDir}: there is no such folder`);
  if (options.configDir !== undefined && !(await isThere(join(options.configDir, 'main.cf'))))
    throw new UsageError(
      `--config-dir ${options.configDir}: there is no main.cf; configure Postfix first, on Debian with dpkg-reconfigure postfix`,
    );
  const folder = dataFolder(resolve(options.data));
  const {config} = await loadConfig(folder.config, process.env);
  try {
    return await setupPostfix({
      data: folder.root,
      nodeFile: folder.config,
      config,
      isScannerSet: process.env.MFD_SCANNER_TYPE !== undefined,
      configDir: options.configDir === undefined ? undefined : resolve(options.configDir),
      hasRecipients: options.recipients ?? false,
      action,
      asOwner: async work => asOwnerOf(folder.root, work),
      paths: {...standardPaths, ...(options.rspamdDir !== undefined && {rspamdDir: resolve(options.rspamdDir)})},
    });
  } catch (error) {
    throw error instanceof SetupError ? new CommandError(error.message) : error;
  }
};

/** A folder that may not be read is another failure, which Postfix names. */
const isThere = async (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && error.code !== 'ENOTDIR',
  );
