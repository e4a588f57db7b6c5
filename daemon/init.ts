// `mfd init`: from an empty folder to a node that can start.

import {randomBytes, randomInt} from 'node:crypto';
import {chmod, mkdir, readdir, writeFile} from 'node:fs/promises';
import {createServer} from 'node:net';
import {hostname} from 'node:os';
import {resolve} from 'node:path';
import {nodeIdPattern} from '../shared/fields.ts';
import {formatHostPort, type HostPort, isWildcard, parseHostPort} from '../shared/host-port.ts';
import {checkConfig} from './check-config.ts';
import {createAuthority} from './cluster/certificates.ts';
import {CommandError} from './command-error.ts';
import {type InitialSettings, initialConfig} from './config/initial.ts';
import {loadConfig} from './config/load.ts';
import {isHostName} from './config/schema.ts';
import {type DataFolder, dataFolder} from './data-folder.ts';
import {createConfiguration} from './services/configuration.ts';
import {insertKey} from './services/keys.ts';
import {openDatabase} from './store/database.ts';
import {writeState} from './store/local-state.ts';
import {apiCertificate, nodeCertificate} from './tls-files.ts';

export interface InitOptions {
  data: string;
  nodeId?: string | undefined;
  fqdn?: string | undefined;
  apiListen?: string | undefined;
  clusterListen?: string | undefined;
  metricsListen?: string | undefined;
  smtpListen?: string | undefined;
}

/** What `mfd init --json` prints. */
export interface InitReport {
  node_id: string;
  api_url: string;
  cluster_url: string;
  metrics_url: string;
  smtp: string;
  api_key: string;
  ca_file: string;
  data: string;
}

/** The founder of a cluster is its node number 1. */
const founderNo = 1;
const firstKeyLimit = 6000;

/** Refuses a folder with anything in it but a configuration, and leaves that as it was. */
export const initialise = async (options: InitOptions): Promise<InitReport> => {
  const folder = dataFolder(resolve(options.data));
  const nodeId = options.nodeId ?? defaultNodeId();
  if (!nodeIdPattern.test(nodeId))
    throw new CommandError(`--node-id ${JSON.stringify(nodeId)}: must be 1 to 63 letters, digits, dots, underscores or hyphens`);
  const isConfigured = await requireVacant(folder.root);
  const settings = isConfigured ? await settingsIn(folder, options) : await settingsFrom(options);

  await mkdir(folder.root, {recursive: true, mode: 0o700});
  await chmod(folder.root, 0o700);
  await mkdir(folder.tls, {mode: 0o700});
  const authority = await createAuthority(Date.now());
  await writeFile(folder.caKey, authority.key, {mode: 0o600});
  await writeFile(folder.caCert, authority.cert, {mode: 0o644});
  const api_key = await createDatabase(folder.database, nodeId, settings.fqdn);
  // Last: one that mfd writes is what says that a node lives here.
  if (!isConfigured) await writeFile(folder.config, initialConfig(settings), {mode: 0o600});
  const {config} = await loadConfig(folder.config, isConfigured ? process.env : {});
  await apiCertificate(folder, config, Date.now());
  await nodeCertificate(folder, config, {nodeId, nodeNo: founderNo}, Date.now());

  return {
    node_id: nodeId,
    api_url: `https://${formatHostPort(reachable(settings.apiListen))}`,
    cluster_url: `https://${formatHostPort(reachable(settings.clusterListen))}`,
    metrics_url: `http://${formatHostPort(reachable(settings.metricsListen))}`,
    smtp: formatHostPort(reachable(settings.smtpListen)),
    api_key,
    ca_file: folder.caCert,
    data: folder.root,
  };
};

/** `host` as a client on this machine can reach it. */
const reachable = (listen: string): HostPort => {
  const {host, port} = parseHostPort(listen, {allowZero: true}) ?? {host: '', port: 0};
  return {host: isWildcard(host) ? 'localhost' : host, port};
};

const defaultNodeId = (): string => {
  const name =
    hostname()
      .split('.')[0]
      ?.replace(/[^A-Za-z0-9-]/g, '')
      .slice(0, 40) || 'node';
  return `${name}-${randomBytes(2).toString('hex')}`;
};

const settingsFrom = async (options: InitOptions): Promise<InitialSettings> => {
  if (options.fqdn !== undefined && !isHostName(options.fqdn))
    throw new CommandError(`--fqdn ${JSON.stringify(options.fqdn)}: must be a host name`);
  return {
    // A machine may be called what no host name may be.
    fqdn: options.fqdn ?? (isHostName(hostname()) ? hostname() : 'localhost'),
    apiListen: await concrete('--api-listen', options.apiListen ?? '0.0.0.0:8443'),
    clusterListen: await concrete('--cluster-listen', options.clusterListen ?? '0.0.0.0:8444'),
    metricsListen: await concrete('--metrics-listen', options.metricsListen ?? '127.0.0.1:9090'),
    smtpListen: await concrete('--smtp-listen', options.smtpListen ?? '127.0.0.1:2525'),
  };
};

/** A configuration that was put there first, as by a provisioning system, stays as it is. */
const settingsIn = async (folder: DataFolder, {fqdn, apiListen, clusterListen, metricsListen, smtpListen}: InitOptions) => {
  const file = folder.config;
  if ([fqdn, apiListen, clusterListen, metricsListen, smtpListen].some(option => option !== undefined))
    throw new CommandError(`${file} is there already: set the name and the addresses in it, and leave the options out`);
  const loaded = await loadConfig(file, process.env);
  await checkConfig(folder, loaded);
  const {config} = loaded;
  const listens = {'api.listen': config.api.listen, 'cluster.listen': config.cluster.listen};
  for (const [key, text] of Object.entries(listens))
    if (parseHostPort(text, {allowZero: true})?.port === 0)
      throw new CommandError(`${loaded.whereIs(key)}: ${key} has port 0; clients and other nodes need one that stays`);
  return {
    fqdn: config.fqdn ?? hostname(),
    apiListen: config.api.listen,
    clusterListen: config.cluster.listen,
    metricsListen: config.metrics.listen,
    smtpListen: config.smtp.listen,
  };
};

/** Port 0 becomes a port that is free now, so that what is printed and stored can be connected to later. */
const concrete = async (option: string, text: string): Promise<string> => {
  const listen = parseHostPort(text, {allowZero: true});
  if (!listen) throw new CommandError(`${option} ${JSON.stringify(text)}: must be HOST:PORT, IPv6 in brackets`);
  return listen.port === 0 ? formatHostPort({...listen, port: await freePort(listen.host)}) : text;
};

/** Below the range from which systems take ports for outgoing connections: one of those might have it at the next start. */
const freePort = async (host: string): Promise<number> => {
  for (;;) {
    const port = randomInt(10_000, 32_768);
    if (await isFree(host, port)) return port;
  }
};

const isFree = async (host: string, port: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen(port, host, () => server.close(() => resolve(true)));
  });

/** Whether a folder without a node has a configuration. */
const requireVacant = async (root: string): Promise<boolean> => {
  const entries = await entriesOf(root);
  const isConfigured = entries.includes('mfd.yaml');
  if (isVacant(entries)) return isConfigured;
  if (isConfigured) throw new CommandError(`${root} holds a node already; start it with: mfd start --data ${root}`);
  throw new CommandError(`${root} is not empty; choose an empty folder`);
};

const entriesOf = async (root: string): Promise<string[]> =>
  readdir(root).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw new CommandError(`${root}: cannot be read (${error.code})`);
  });

const isVacant = (entries: string[]): boolean => entries.every(name => name === 'lost+found' || name === 'mfd.yaml');

/** Whether a node is to be made here before it can start; `initialise` says why when it cannot be. */
export const awaitsNode = async (data: string): Promise<{isConfigured: boolean} | undefined> => {
  const entries = await entriesOf(resolve(data));
  const isConfigured = entries.includes('mfd.yaml');
  return isConfigured && !isVacant(entries) ? undefined : {isConfigured};
};

/** Identity, the node's own record and the first key; returns the key. */
const createDatabase = async (filename: string, nodeId: string, fqdn: string): Promise<string> => {
  const database = await openDatabase(filename);
  try {
    await database.write.transaction(async tx => {
      await writeState(tx, 'node_id', nodeId);
      await writeState(tx, 'node_no', String(founderNo));
    });
    const configuration = createConfiguration({database, nodeNo: founderNo, now: Date.now, withRoom: async write => write()});
    const created = await configuration.change(async draft => {
      await draft.create('node', founderNo, {
        node_id: nodeId,
        fqdn,
        cluster_url: null,
        api_url: null,
        created_at: draft.at,
      });
      const wanted = {name: 'admin', scope: 'full-admin', rate_limit_per_minute: firstKeyLimit} as const;
      return insertKey(draft, {keyId: null, remoteAddress: null}, wanted, undefined);
    });
    return created.key;
  } finally {
    await database.close();
  }
};
