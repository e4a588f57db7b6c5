// Paths of a node's files below its data directory.

import {dirname, join} from 'node:path';
import {syncFolder} from '../../shared/sync-folder.ts';

export interface DataFolder {
  root: string;
  config: string;
  database: string;
  /** The identity of a node whose store is shared; such a node has no database here. */
  identity: string;
  lock: string;
  spool: string;
  reserveFile: string;
  tls: string;
  caCert: string;
  caKey: string;
  apiCert: string;
  apiKey: string;
  nodeCert: string;
  nodeKey: string;
}

export const dataFolder = (root: string): DataFolder => ({
  root,
  config: join(root, 'mfd.yaml'),
  database: join(root, 'mfd.db'),
  identity: join(root, 'node.json'),
  lock: join(root, 'lock.db'),
  spool: join(root, 'spool'),
  reserveFile: join(root, 'ballast'),
  tls: join(root, 'tls'),
  caCert: join(root, 'tls', 'ca.crt'),
  caKey: join(root, 'tls', 'ca.key'),
  apiCert: join(root, 'tls', 'api.crt'),
  apiKey: join(root, 'tls', 'api.key'),
  nodeCert: join(root, 'tls', 'node.crt'),
  nodeKey: join(root, 'tls', 'node.key'),
});

/** Makes the names of the files durable too: a command that created a node reports success only after that. */
export const syncFolders = async ({root, tls}: DataFolder): Promise<void> => {
  for (const path of [tls, root]) await syncFolder(path);
  // The parent may belong to another user and be unreadable.
  await syncFolder(dirname(root)).catch(() => {});
};
