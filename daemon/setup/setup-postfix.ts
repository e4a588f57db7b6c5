// `mfd setup postfix`: shows, writes or undoes the settings that connect an existing Postfix with mfd.
import {lstat, realpath, stat} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import type {LoadedConfig} from '../config/load.ts';
import {applyPlan} from './apply.ts';
import {type Paths, surveyMailSystem} from './mail-system.ts';
import {valueIn} from './node-config.ts';
import {type Plan, planSetup} from './plan.ts';
import {openPostfix} from './postfix-tool.ts';
import {SetupError} from './setup-error.ts';
import {bytesOf, readRecord, recordPath} from './setup-record.ts';
import {appliedText, isNothing, type Named, printedText, undoneText} from './setup-text.ts';
import {undoSetup} from './undo.ts';

export interface SetupOptions {
  data: string;
  /** mfd.yaml, and the configuration from it and the environment. */
  nodeFile: string;
  config: LoadedConfig['config'];
  isScannerSet: boolean;
  configDir?: string | undefined;
  hasRecipients: boolean;
  action: 'print' | 'apply' | 'undo';
  paths: Paths;
  /**
   * Runs `work` with only the rights of the data directory's owner, as a file in it may be a link to a file of root.
   */
  asOwner<T>(work: () => Promise<T>): Promise<T>;
}

/** Returns the text to print. */
export const setupPostfix = async (options: SetupOptions): Promise<string> => {
  const {data, nodeFile, config, action, asOwner} = options;
  const configDir = options.configDir ?? config.postfix.config_dir ?? '/etc/postfix';
  if (config.postfix.config_dir !== undefined && config.postfix.config_dir !== configDir)
    throw new SetupError(
      `--config-dir is ${configDir}, and postfix.config_dir in ${nodeFile} is ${config.postfix.config_dir}; make them the same`,
    );

  // Postfix runs programs that its configuration names. The owner of mfd.yaml must not make root use such a configuration.
  if (action !== 'print' && options.configDir === undefined) await requireRoots(configDir);
  const postfix = openPostfix(configDir);
  const named: Named = {configDir, nodeFile, command: commandOf(options, configDir)};
  const record = await readRecord(configDir);
  if (record && record.data !== data)
    throw new SetupError(
      `this Postfix is set up for the node in ${record.data}; undo that first, with --data ${record.data} --undo`,
    );
  if (action === 'undo') {
    if (!record) throw new SetupError(`there is nothing to undo: ${recordPath(configDir)} is not there`);
    return undoneText(await undoSetup(record, postfix, asOwner), record, named);
  }

  const nodeText = (await asOwner(async () => bytesOf(nodeFile)))?.toString() ?? '';
  const {milter_listen: milterListen, socketmap_listen: socketmapListen} = config.postfix;
  const {uid} = await stat(data);
  const system = await surveyMailSystem(postfix, uid, options.paths);
  const wanted = {
    nodeText,
    uid,
    milterListen,
    socketmapListen,
    isScannerSet: options.isScannerSet || valueIn(nodeText, 'scanner.type') !== null,
    hasRecipients: options.hasRecipients,
  };
  const plan = await withoutFolderThatIs(planSetup(system, wanted, record));
  if (action === 'print') return printedText(plan, named);
  const copies = isNothing(plan) ? [] : await applyPlan(plan, {postfix, data, nodeFile, record, asOwner});
  return appliedText(plan, named, copies);
};

const requireRoots = async (configDir: string): Promise<void> => {
  for (const file of ['main.cf', 'master.cf']) {
    const path = join(configDir, file);
    for (const start of [path, await realpath(path)])
      for (let one = start; one !== dirname(one); one = dirname(one)) {
        if ((await lstat(one)).uid === 0) continue;
        throw new SetupError(
          `${one} belongs to another user than root, who would run what ${path} says: if it is right, name the folder with --config-dir`,
        );
      }
  }
};

const withoutFolderThatIs = async (plan: Plan): Promise<Plan> => {
  if (!plan.folder) return plan;
  const {path, uid, gid} = plan.folder;
  const found = await stat(path).catch(() => undefined);
  const isThere = found?.isDirectory() === true && found.uid === uid && found.gid === gid && (found.mode & 0o7777) === 0o2750;
  return isThere ? {...plan, folder: undefined} : plan;
};

const commandOf = ({data, configDir, hasRecipients}: SetupOptions, used: string): string =>
  [
    'mfd setup postfix --data',
    data,
    ...(configDir === undefined ? [] : ['--config-dir', used]),
    ...(hasRecipients ? ['--recipients'] : []),
  ].join(' ');
