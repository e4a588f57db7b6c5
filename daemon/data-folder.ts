// Where everything of a node lies below its data directory.
import {join} from 'node:path';

export interface DataFolder {
  root: string;
  config: string;
  database: string;
  lock: string;
  spool: string;
  ballast: string;
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
  lock: join(root, 'lock.db'),
  spool: join(root, 'spool'),
  ballast: join(root, 'ballast'),
  tls: join(root, 'tls'),
  caCert: join(root, 'tls', 'ca.crt'),
  caKey: join(root, 'tls', 'ca.key'),
  apiCert: join(root, 'tls', 'api.crt'),
  apiKey: join(root, 'tls', 'api.key'),
  nodeCert: join(root, 'tls', 'node.crt'),
  nodeKey: join(root, 'tls', 'node.key'),
});
