// `mfd setup postfix`: shows, writes or takes back what makes a Postfix that is there already ask mfd.
import {stat} from 'node:fs/promises';
import type {LoadedConfig} from '../config/load.ts';
import {applyPlan} from './apply.ts';
import {bytesOf} from './kept-files.ts';
import {type Places, surveyMailSystem} from './mail-system.ts';
import {valueIn} from './node-config.ts';
import {type Plan, planSetup} from './plan.ts';
import {openPostfix} from './postfix-tool.ts';
import {SetupError} from './setup-error.ts';
import {readRecord, recordPath} from './setup-record.ts';
import {appliedText, isNothing, type Named, printedText, undoneText} from './setup-text.ts';
import {undoSetup} from './undo.ts';

export interface SetupOptions {
  data: string;
  /** mfd.yaml, and what it and the environment say. */
  nodeFile: string;
  config: LoadedConfig['config'];
  isScannerSet: boolean;
  configDir?: string | undefined;
  hasRecipients: boolean;
  action: 'print' | 'apply' | 'undo';
  places: Places;
}

/** Returns what to print. */
export const setupPostfix = async (options: SetupOptions): Promise<string> => {
  const {data, nodeFile, config, action} = options;
  const configDir = options.configDir ?? config.postfix.config_dir ?? '/etc/postfix';
  if (config.postfix.config_dir !== undefined && config.postfix.config_dir !== configDir)
    throw new SetupError(
      `--config-dir is ${configDir}, and postfix.config_dir in ${nodeFile} is ${config.postfix.config_dir}; make them one`,
    );

  const postfix = openPostfix(configDir);
  const named: Named = {configDir, nodeFile, command: commandOf(options, configDir)};
  const record = await readRecord(configDir);
  if (record && record.data !== data)
    throw new SetupError(
      `this Postfix is set up for the node in ${record.data}; undo that first, with --data ${record.data} --undo`,
    );
  if (action === 'undo') {
    if (!record) throw new SetupError(`there is nothing to undo: ${recordPath(configDir)} is not there`);
    return undoneText(await undoSetup(record, postfix), record, named);
  }

  const nodeText = (await bytesOf(nodeFile))?.toString() ?? '';
  const {milter_listen: milterListen, socketmap_listen: socketmapListen} = config.postfix;
  const system = await surveyMailSystem(postfix, options.places);
  const wanted = {
    nodeText,
    uid: (await stat(data)).uid,
    milterListen,
    socketmapListen,
    isScannerSet: options.isScannerSet || valueIn(nodeText, 'scanner.type') !== null,
    hasRecipients: options.hasRecipients,
  };
  const plan = await withoutFolderThatIs(planSetup(system, wanted, record));
  if (action === 'print') return printedText(plan, named);
  const copies = isNothing(plan) ? [] : await applyPlan(plan, {postfix, data, nodeFile, record});
  return appliedText(plan, named, copies);
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
