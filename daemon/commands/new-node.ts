// Plan of a new node, either the first of a cluster or one that joins: an empty folder, a name, addresses.

import {randomBytes, randomInt} from 'node:crypto';
import {readdir} from 'node:fs/promises';
import {createServer} from 'node:net';
import {hostname} from 'node:os';
import {join, resolve} from 'node:path';
import {nodeIdPattern} from '../../shared/fields.ts';
import {formatHostPort, isWildcard, parseHostPort} from '../../shared/host-port.ts';
import {quoted} from '../../shared/shell-word.ts';
import {type InitialSettings, initialConfig} from '../config/initial.ts';
import {type LoadedConfig, loadConfig, readConfig, readText} from '../config/load.ts';
import {type Config, isHostName} from '../config/schema.ts';
import {type StoreSettings, storeSettings} from '../config/store-settings.ts';
import {CommandError, UsageError} from '../node/command-error.ts';
import {type DataFolder, dataFolder} from '../node/data-folder.ts';
import {withKeys} from '../setup/node-config.ts';
import {checkConfig} from './check-config.ts';
import {type StoreOptions, storeKeys} from './store-options.ts';

export interface NewNodeOptions extends StoreOptions {
  data: string;
  nodeId?: string | undefined;
  fqdn?: string | undefined;
  apiListen?: string | undefined;
  apiAdvertise?: string | undefined;
  clusterListen?: string | undefined;
  clusterAdvertise?: string | undefined;
  metricsListen?: string | undefined;
  smtpListen?: string | undefined;
}

export interface NewNode {
  folder: DataFolder;
  nodeId: string;
  fqdn: string;
  /** The configuration that the node will start with. */
  config: Config;
  /** The `mfd.yaml` to write; undefined when the folder has one that stays as it is. */
  configText: string | undefined;
  /** The store that all nodes share; undefined for a store of its own. */
  store: StoreSettings | undefined;
}

/** Refuses a folder that has more than a configuration in it, and invalid options. Creates nothing yet. */
export const planNode = async (options: NewNodeOptions): Promise<NewNode> => {
  const folder = dataFolder(resolve(options.data));
  const nodeId = options.nodeId ?? defaultNodeId();
  if (!nodeIdPattern.test(nodeId))
    throw new UsageError(`--node-id ${JSON.stringify(nodeId)}: must be 1 to 63 letters, digits, dots, underscores or hyphens`);
  const isConfigured = await requireUninitialised(folder.root);
  const {loaded, configText} = isConfigured ? await configIn(folder, options) : await newConfig(folder, options);
  const {config} = loaded;
  return {folder, nodeId, fqdn: config.fqdn ?? hostname(), config, configText, store: storeSettings(loaded)};
};

interface PlannedConfig {
  loaded: LoadedConfig;
  configText: string | undefined;
}

const newConfig = async (folder: DataFolder, options: NewNodeOptions): Promise<PlannedConfig> => {
  const configText = withKeys(initialConfig(await settingsFrom(options)), await storeKeys(options));
  return {loaded: await readConfig(configText, folder.config, {}), configText};
};

/** Addresses of the node for clients on this machine. */
export const localAddresses = ({api, cluster, metrics, smtp}: Config) => ({
  api_url: `https://${reachable(api.listen)}`,
  cluster_url: `https://${reachable(cluster.listen)}`,
  metrics_url: `http://${reachable(metrics.listen)}`,
  smtp: reachable(smtp.listen),
});

const reachable = (listen: string): string => {
  const {host, port} = parseHostPort(listen, {allowZero: true}) ?? {host: '', port: 0};
  return formatHostPort({host: isWildcard(host) ? 'localhost' : host, port});
};

const defaultNodeId = (): string => {
  const name =
    hostname()
      .split('.')[0]
      ?.replace(/[^A-Za-z0-9-]/g, '')
      .slice(0, 40) || 'node';
  return `${name}-${randomBytes(2).toString('hex')}`;
};

const settingsFrom = async (options: NewNodeOptions): Promise<InitialSettings> => {
  if (options.fqdn !== undefined && !isHostName(options.fqdn))
    throw new UsageError(`--fqdn ${JSON.stringify(options.fqdn)}: must be a host name`);
  const advertised = {'--api-advertise': options.apiAdvertise, '--cluster-advertise': options.clusterAdvertise};
  for (const [option, text] of Object.entries(advertised))
    if (text !== undefined && !parseHostPort(text))
      throw new UsageError(`${option} ${JSON.stringify(text)}: must be HOST:PORT with a port up to 65535, IPv6 in brackets`);
  return {
    // The name of a machine may be an invalid host name.
    fqdn: options.fqdn ?? (isHostName(hostname()) ? hostname() : 'localhost'),
    apiListen: await concrete('--api-listen', options.apiListen ?? '0.0.0.0:8443'),
    apiAdvertise: options.apiAdvertise,
    clusterListen: await concrete('--cluster-listen', options.clusterListen ?? '0.0.0.0:8444'),
    clusterAdvertise: options.clusterAdvertise,
    metricsListen: await concrete('--metrics-listen', options.metricsListen ?? '127.0.0.1:9090'),
    smtpListen: await concrete('--smtp-listen', options.smtpListen ?? '127.0.0.1:2525'),
  };
};

/** Uses an existing configuration, such as one from a provisioning system. Only a store that it does not name is added to it. */
const configIn = async (folder: DataFolder, options: NewNodeOptions): Promise<PlannedConfig> => {
  const file = folder.config;
  const {fqdn, apiListen, apiAdvertise, clusterListen, clusterAdvertise, metricsListen, smtpListen} = options;
  const addresses = [apiListen, apiAdvertise, clusterListen, clusterAdvertise, metricsListen, smtpListen];
  if ([fqdn, ...addresses].some(option => option !== undefined))
    throw new CommandError(`${file} is there already: set the name and the addresses in it, and leave the options out`);
  const found = await loadConfig(file, process.env);
  const keys = await storeKeys(options);
  if (keys.length > 0 && found.config.store.url !== undefined)
    throw new CommandError(`${found.whereIs('store.url')}: the store is named there already; leave the --store options out`);
  const configText = keys.length > 0 ? withKeys(await readText(file, file), keys) : undefined;
  const loaded = configText === undefined ? found : await readConfig(configText, file, process.env);
  await checkConfig(loaded);
  const {config} = loaded;
  const listens = {'api.listen': config.api.listen, 'cluster.listen': config.cluster.listen};
  for (const [key, text] of Object.entries(listens))
    if (parseHostPort(text, {allowZero: true})?.port === 0)
      throw new CommandError(`${loaded.whereIs(key)}: ${key} has port 0; clients and other nodes need one that stays`);
  return {loaded, configText};
};

/** Replaces port 0 by a free port, so that clients can connect to the printed and stored address later. */
const concrete = async (option: string, text: string): Promise<string> => {
  const listen = parseHostPort(text, {allowZero: true});
  if (!listen)
    throw new UsageError(`${option} ${JSON.stringify(text)}: must be HOST:PORT with a port up to 65535, IPv6 in brackets`);
  return listen.port === 0 ? formatHostPort({...listen, port: await freePort(listen.host)}) : text;
};

/** Below the range for outgoing connections: one of these might occupy the port at the next start. */
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

/** Throws unless the folder can take a new node; resolves with whether it has a configuration. */
const requireUninitialised = async (root: string): Promise<boolean> => {
  const entries = await entriesOf(root);
  const isConfigured = entries.includes('mfd.yaml');
  if (isEmptyButForConfig(entries)) return isConfigured;
  if (isConfigured) throw new CommandError(`${root} holds a node already; start it with: mfd start --data ${root}`);
  const made = leftByInit(entries).map(name => quoted(join(root, name)));
  const advice =
    made.length > 0 ? `, or if an interrupted mfd init left it so, remove what it made: rm -r ${made.join(' ')}` : '';
  throw new CommandError(`${root} is not empty; choose an empty folder${advice}`);
};

/** What `mfd init` makes before mfd.yaml, which it writes last; `tls` comes first. */
const madeByInit = ['tls', 'mfd.db', 'mfd.db-wal', 'mfd.db-shm', 'node.json', 'mfd.yaml.new'];

/**
 * The entries of a folder that are all from a `mfd init` that was interrupted; none where anything else is there. A node that has run
 * has a spool or a lock as well, and nobody is told to remove that.
 */
const leftByInit = (entries: string[]): string[] => {
  const isLeft = entries.includes('tls') && entries.every(name => madeByInit.includes(name) || name === 'lost+found');
  return isLeft ? madeByInit.filter(name => entries.includes(name)) : [];
};

const entriesOf = async (root: string): Promise<string[]> =>
  readdir(root).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw new CommandError(`${root}: cannot be read (${error.code})`);
  });

const isEmptyButForConfig = (entries: string[]): boolean => entries.every(name => name === 'lost+found' || name === 'mfd.yaml');

/** The state of a folder that holds no node yet; undefined when it holds one. `planNode` decides whether a node can be created in it. */
export const findUninitialised = async (data: string): Promise<{isConfigured: boolean} | undefined> => {
  const entries = await entriesOf(resolve(data));
  const isConfigured = entries.includes('mfd.yaml');
  const isNode = (entries.includes('mfd.db') || entries.includes('node.json')) && leftByInit(entries).length === 0;
  return isNode || (isConfigured && !isEmptyButForConfig(entries)) ? undefined : {isConfigured};
};

/** Settings of a new node from the environment; the mfctl context that is created for the node uses them too. */
export const settingsIn = (environment: NodeJS.ProcessEnv): Omit<NewNodeOptions, 'data'> => ({
  fqdn: environment.MFD_FQDN,
  apiListen: environment.MFD_API_LISTEN,
  apiAdvertise: environment.MFD_API_ADVERTISE,
  clusterListen: environment.MFD_CLUSTER_LISTEN,
  clusterAdvertise: environment.MFD_CLUSTER_ADVERTISE,
  metricsListen: environment.MFD_METRICS_LISTEN,
  smtpListen: environment.MFD_SMTP_LISTEN,
  storeUrl: environment.MFD_STORE_URL,
  storePasswordFile: environment.MFD_STORE_PASSWORD_FILE,
  storeCaFile: environment.MFD_STORE_CA_FILE,
});

/** The new configuration has these addresses, with port 0 replaced by the port that was printed and that the context has. */
export const withoutListens = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !/^MFD_(API|CLUSTER|METRICS|SMTP)_LISTEN$/.test(name)));
