// Where Postfix logs, and whether the node may read it.
import {execFile} from 'node:child_process';
import {stat} from 'node:fs/promises';
import {promisify} from 'node:util';
import {childEnvironment} from '../../shared/child-environment.ts';
import type {PostfixTool} from './postfix-tool.ts';
import {isThere} from './setup-record.ts';

export interface LogSource {
  /** As `postfix.log_file` has it; undefined where none was found. */
  value: string | undefined;
  /** What the administrator has to do so that the node may read it; undefined when it may. */
  advice: string | undefined;
}

export interface LogPaths {
  /** Is there where the journal of systemd runs. */
  journalDir: string;
  /** Where syslog writes the log of mail, as far as distributions agree. */
  logFiles: string[];
}

const stream = /^\/dev\/(?:stdout|stderr|null|fd\/)/;

/** `uid`: the user of the node. */
export const findLog = async (postfix: Pick<PostfixTool, 'expanded'>, uid: number, paths: LogPaths): Promise<LogSource> => {
  const own = await postfix.expanded('maillog_file');
  // Postfix in a container writes to /dev/stdout.
  if (own.startsWith('/') && !stream.test(own)) return logFile(own, uid);
  if (await isThere(paths.journalDir)) return journal(uid);
  for (const file of paths.logFiles) if (await isThere(file)) return logFile(file, uid);
  return {value: undefined, advice: undefined};
};

const journalGroups = ['systemd-journal', 'adm'];

const journal = async (uid: number): Promise<LogSource> => {
  const groups = await groupsOf(uid);
  const mayRead = uid === 0 || journalGroups.some(group => groups.includes(group));
  return {value: 'journal', advice: mayRead ? undefined : await joining(uid, 'the journal', 'systemd-journal')};
};

const logFile = async (file: string, uid: number): Promise<LogSource> => {
  const found = await stat(file).catch(() => undefined);
  const mayRead = !found || uid === 0 || (found.mode & 0o004) !== 0 || (found.uid === uid && (found.mode & 0o400) !== 0);
  if (mayRead) return {value: file, advice: undefined};
  const group = await printed('stat', ['-Lc', '%G', '--', file]);
  if ((found.mode & 0o040) === 0)
    return {value: file, advice: `${file} has to be readable for a group that the user of mfd is in.`};
  const isMember = (await groupsOf(uid)).includes(group);
  return {value: file, advice: isMember ? undefined : await joining(uid, file, group)};
};

const joining = async (uid: number, what: string, group: string): Promise<string> => {
  const user = (await printed('id', ['-nu', '--', String(uid)])) || `#${uid}`;
  return `mfd may not read ${what} yet: usermod -aG ${group} ${user}, before you restart it.`;
};

const groupsOf = async (uid: number): Promise<string[]> => (await printed('id', ['-nG', '--', String(uid)])).split(' ');

/** Empty where the program fails, such as for a user without a name. */
const printed = async (program: string, args: string[]): Promise<string> => {
  const env = childEnvironment({...process.env, LC_ALL: 'C'});
  return promisify(execFile)(program, args, {env}).then(
    ({stdout}) => stdout.trim(),
    () => '',
  );
};
