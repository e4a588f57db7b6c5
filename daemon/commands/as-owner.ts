// Owner of the data directory. Root works there with the owner's rights: a package creates the directory for a user of its own, and root creates the node.
import {access, constants, readFile, stat} from 'node:fs/promises';
import {type Command, Option} from 'commander';
import {quoted} from '../../shared/shell-word.ts';
import {UsageError} from '../node/command-error.ts';
import {loadDriver} from '../store/sqlite/database.ts';

/**
 * When root calls, runs `work` with the rights of the folder's owner: the owner can read the files that it writes, and a link that
 * the owner has placed there gives no access to files of others.
 */
export const asOwnerOf = async <T>(folder: string, work: () => Promise<T>): Promise<T> => {
  const owner = process.geteuid?.() === 0 ? await stat(folder).catch(() => undefined) : undefined;
  if (!owner || owner.uid === 0) return work();
  // Loaded first, as the owner may have no access to the folder of the program.
  await loadDriver();
  const groups = process.getgroups?.() ?? [];
  // Groups are set first, as only root may change them.
  process.setgroups?.([owner.gid]);
  process.setegid?.(owner.gid);
  process.seteuid?.(owner.uid);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
    process.setgroups?.(groups);
  }
};

/** `--data` of a command that changes nothing in the folder: whoever may read it may run the command. */
export class ReadFolderOption extends Option {
  constructor() {
    super('--data <dir>', 'data directory');
    this.makeOptionMandatory();
  }
}

/** Refuses a user who may not use the folder of another one, and names the command to type. */
export const requireOwner = async (folder: string, command: Command): Promise<void> => {
  const owner = await stat(folder).catch(() => undefined);
  if (!owner || owner.uid === process.geteuid?.()) return;
  const write = command.options.some(option => option instanceof ReadFolderOption) ? 0 : constants.W_OK;
  const isUsable = await access(folder, constants.R_OK | constants.X_OK | write).then(
    () => true,
    () => false,
  );
  if (isUsable) return;
  const name = await userName(owner.uid);
  throw new UsageError(
    `--data ${folder}: this folder belongs to ${name}, and you may not use it; run as ${name}: sudo -u ${quoted(name)} ${typed(command, folder)}`,
  );
};

/** As sudo takes it where /etc/passwd does not know the user. */
const userName = async (uid: number): Promise<string> => {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n');
  return lines.map(line => line.split(':')).find(([, , id]) => id === String(uid))?.[0] ?? `#${uid}`;
};

/** Without other options and arguments: a join token is a secret. */
const typed = (command: Command, folder: string): string => {
  const names: string[] = [];
  for (let each: Command | null = command; each; each = each.parent) names.unshift(each.name());
  const others = command.args.length > 0 || Object.keys(command.opts()).length > 1 ? ' …' : '';
  return `${names.join(' ')} --data ${quoted(folder)}${others}`;
};
