// Folder of a new node: a command that fails leaves it as it was.
import {access, chmod, constants, mkdir, readdir, rename, rm, stat, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {makeFolder} from '../../shared/make-folder.ts';
import type {NewNode} from './new-node.ts';

/** Creates the folder, checks that it can be written to, and notes its entries, so that `restore` can remove all new ones. */
export const prepareFolder = async ({folder: {root}}: Pick<NewNode, 'folder'>): Promise<{restore(): Promise<void>}> => {
  const isNew = await makeFolder(root);
  await access(root, constants.W_OK);
  const before = await readdir(root);
  return {
    async restore() {
      if (isNew) await rm(root, {recursive: true, force: true});
      else
        for (const name of await readdir(root))
          if (!before.includes(name)) await rm(join(root, name), {recursive: true, force: true});
    },
  };
};

/** Makes the folder private, and creates the one for certificates in it. */
export const createTlsFolder = async ({folder: {root, tls}}: Pick<NewNode, 'folder'>): Promise<void> => {
  await chmod(root, 0o700);
  await mkdir(tls, {mode: 0o700});
};

/** Replaces an existing file as a whole, with the same rights. */
export const writeConfig = async ({folder: {config}, configText}: Pick<NewNode, 'folder' | 'configText'>): Promise<void> => {
  if (configText === undefined) return;
  const before = await stat(config).catch(() => undefined);
  await writeFile(`${config}.new`, configText, {mode: 0o600, flush: true});
  if (before) await chmod(`${config}.new`, before.mode & 0o777);
  await rename(`${config}.new`, config);
};
