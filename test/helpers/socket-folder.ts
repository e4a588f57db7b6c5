import {spawnSync} from 'node:child_process';
import {chmod, mkdir} from 'node:fs/promises';
import {join} from 'node:path';
import type {PrivatePostfix} from './postfix.ts';

/** A folder in Postfix's queue directory where a node may listen and Postfix may connect, as created by `mfd setup postfix`. */
export const makeSocketFolder = async ({queueDir}: Pick<PrivatePostfix, 'queueDir'>): Promise<string> => {
  const folder = join(queueDir, 'mfd');
  await mkdir(folder);
  const {status, stderr} = spawnSync('chgrp', ['postfix', folder]);
  if (status !== 0) throw new Error(`chgrp: ${stderr}`);
  // Set-gid: files created in it belong to the group too.
  await chmod(folder, 0o2750);
  return folder;
};
