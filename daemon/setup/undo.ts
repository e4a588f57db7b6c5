// Undo of a setup. Later changes by others stay; mfd's part is removed from them where it can be identified.
import {readFile, rm, rmdir} from 'node:fs/promises';
import {basename} from 'node:path';
import {valueIn, withoutKeys} from './node-config.ts';
import {type Edits, hasEntry, type PostfixTool, withoutEntry} from './postfix-tool.ts';
import {bytesOf, type EditedFile, hashOf, recordPath, replaceFile, type Setting, type SetupRecord} from './setup-record.ts';
/** Returns sentences about the undone changes and those that were left. */
export const undoSetup = async (
  record: SetupRecord,
  postfix: PostfixTool,
  asOwner: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<string[]> => {
  const {main, master, node, created, folder} = record;
  const lines: string[] = [];
  const restore = async (file: EditedFile | null, takeBack: (settings: Setting[]) => Promise<string[]>): Promise<void> => {
    if (!file) return;
    const original = await bytesOf(file.backup);
    if (original && file.hash !== null && (await hashOf(file.path)) === file.hash) {
      await replaceFile(file.path, original);
      await rm(file.backup, {force: true});
      lines.push(`${file.path} is restored, byte for byte.`);
    } else {
      lines.push(`${file.path} was changed since; its other changes stay.`, ...(await takeBack(file.settings)));
      if (original) lines.push(`A copy from before mfd is in ${basename(file.backup)}.`);
    }
  };

  await restore(main, async settings => takeBack(settings, await postfix.explicit(), postfix.edit));
  await restore(master, async settings => takeBack(settings, await overridesOf(postfix), postfix.editServices));
  if (node) await asOwner(async () => restore(node, async settings => takeBackKeys(node.path, settings)));
  for (const {path, hash} of created) {
    if ((await hashOf(path)) === hash) await rm(path);
    else lines.push(`${path} was changed since, and stays.`);
  }
  if (folder !== null) lines.push(...(await removeFolder(folder)));
  await rm(recordPath(postfix.configDir));
  return lines;
};

const takeBack = async (
  settings: Setting[],
  now: Map<string, string>,
  edit: (edits: Edits) => Promise<void>,
): Promise<string[]> => {
  const lines: string[] = [];
  const edits: Edits = [];
  for (const {name, before, after, entry} of settings) {
    const value = now.get(name);
    if (value === after) edits.push({name, value: before});
    else if (value !== undefined && entry !== null && hasEntry(value, entry)) {
      const rest = withoutEntry(value, entry);
      edits.push({name, value: rest === '' && before === null ? null : rest});
      lines.push(`${name} was changed since: only the entry of mfd was removed.`);
    } else lines.push(`${name} was changed since, and stays${value === undefined ? ' unset' : `: ${value}`}.`);
  }
  await edit(edits);
  return lines;
};

const overridesOf = async (postfix: PostfixTool): Promise<Map<string, string>> =>
  new Map(
    (await postfix.services()).flatMap(({name, overrides}) =>
      [...overrides].map(([key, value]) => [`${name}/${key}`, value] as const),
    ),
  );

const takeBackKeys = async (path: string, settings: Setting[]): Promise<string[]> => {
  const text = await readFile(path, 'utf8');
  const isOurs = ({name, after}: Setting) => valueIn(text, name) === after;
  await replaceFile(
    path,
    withoutKeys(
      text,
      settings.filter(isOurs).map(({name}) => name),
    ),
  );
  return settings.filter(setting => !isOurs(setting)).map(({name}) => `${name} was changed since, and stays.`);
};

const removeFolder = async (folder: string): Promise<string[]> => {
  try {
    await rmdir(folder);
    return [];
  } catch (error) {
    const {code} = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return [];
    return [`${folder} is not empty, and stays: remove it when mfd has been restarted.`];
  }
};
