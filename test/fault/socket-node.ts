// A node with a milter and routing tables on unix sockets, and no Postfix.
import {mkdir} from 'node:fs/promises';
import {join} from 'node:path';
import type {Owner} from '../helpers/daemon.ts';
import {type MailNode, type MailNodeOptions, startMailNode} from '../helpers/mail-node.ts';
import {memoryFolder} from './memory-folder.ts';

/** Paths of unix sockets. */
export interface Sockets {
  milter: string;
  tables: string;
}

export const startSocketNode = async (
  owner: Owner,
  {config, ...options}: MailNodeOptions = {},
): Promise<{node: MailNode; sockets: Sockets}> => {
  const folder = await memoryFolder(owner);
  const sockets = {milter: join(folder, 'milter.sock'), tables: join(folder, 'tables.sock')};
  const noPostfix = join(folder, 'postfix');
  await mkdir(noPostfix);
  const postfix = {
    milter_listen: `unix:${sockets.milter}`,
    socketmap_listen: `unix:${sockets.tables}`,
    config_dir: noPostfix,
    reconcile_interval: 86_400,
  };
  const node = await startMailNode(owner, {
    ...options,
    data: join(folder, 'data'),
    config: {log: {level: 'error'}, ...config, postfix},
  });
  return {node, sockets};
};
