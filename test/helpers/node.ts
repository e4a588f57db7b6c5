// A real node for tests: the built programs as child processes, on free ports, in a temporary folder.
import {readFile, writeFile} from 'node:fs/promises';
import {Agent} from 'node:https';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {parse, stringify} from 'yaml';
import {type ApiAnswer, type ApiRequest, callApi} from './api-call.ts';
import {type Daemon, type Owner, startDaemon} from './daemon.ts';
import type {Host} from './network.ts';
import {initStore} from './node-store.ts';
import {freePort} from './ports.ts';
import type {PostgresServer} from './postgres-server.ts';
import {copyPreparedNode} from './prepared-node.ts';
import {mfctlFile, mfdFile, type Ran, type RunOptions, run} from './program.ts';
import {testFolder} from './test-folder.ts';

export type {ApiAnswer, ApiRequest} from './api-call.ts';
export {mfctlFile, mfdFile, run} from './program.ts';

export interface TestNode {
  node_id: string;
  api_url: string;
  api_key: string;
  ca_file: string;
  metrics_url: string;
  cluster_url: string;
  /** host:port */
  smtp: string;
  smtpPort: number;
  data: string;
  xdgConfigHome: string;
  /** Everything that the daemon has written to stderr since its last start. */
  log(): string;
  /** The same of stdout. */
  stdout(): string;
  api(method: string, path: string, options?: ApiRequest): Promise<ApiAnswer>;
  mfctl(args: string[], options?: RunOptions): Promise<Ran>;
  /** Ends the daemon and waits; returns its exit code, or the signal that ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
  /** Starts the daemon of a stopped node again, on the same ports; `env` applies to this start only. */
  start(env?: Record<string, string>): Promise<void>;
  /** The build of mfd that `start` runs from now on. */
  runWith(program: string): void;
  signal(signal: NodeJS.Signals): void;
  isRunning(): boolean;
  /** Process id of the daemon, while it runs. */
  pid(): number;
}

export interface NodeOptions {
  /** Merged into mfd.yaml, section by section. */
  config?: Record<string, unknown>;
  env?: Record<string, string>;
  /** The data directory, when a test needs a special one. */
  data?: string;
  /** Another build of mfd, used to create and run the node. */
  program?: string;
  /** The database of the node; without it, see `node-store.ts`. */
  postgres?: PostgresServer;
}

/** The output of `mfd init --json`. */
export type NodeReport = Pick<
  TestNode,
  'node_id' | 'api_url' | 'api_key' | 'ca_file' | 'metrics_url' | 'cluster_url' | 'smtp' | 'data'
>;

/** Options of `mfd init` and `mfd join`. */
export const listenOptions = ['--api-listen', '--cluster-listen', '--metrics-listen', '--smtp-listen'];

/** The same options with free ports. */
export const freeListens = async (host = '127.0.0.1'): Promise<string[]> => {
  const options: string[] = [];
  for (const option of listenOptions) options.push(option, `${host}:${await freePort()}`);
  return options;
};

export const startNode = async (owner: Owner, options: NodeOptions = {}): Promise<TestNode> => {
  const {root, xdgConfigHome} = await nodeFolder(owner);
  const data = options.data ?? join(root, 'data');
  const env = {XDG_CONFIG_HOME: xdgConfigHome, ...options.env};
  const {config, ...special} = options;
  const isUsual = Object.values(special).every(option => option === undefined);
  const prepared = isUsual ? await copyPreparedNode<NodeReport>(owner, {data, xdgConfigHome}) : undefined;
  const report =
    prepared ??
    (await makeNode(['init', '--data', data, ...(await initStore(owner, options.postgres))], {env, program: options.program}));
  if (config) await addToConfig(data, config);
  const node = await openNode(owner, {report, xdgConfigHome, env, program: options.program});
  await node.start();
  return node;
};

/** A temporary folder for one node, and the mfctl configuration of the user who created the node. */
export const nodeFolder = async (owner: Owner, parent = tmpdir()): Promise<{root: string; xdgConfigHome: string}> => {
  const root = await testFolder(owner, parent);
  return {root, xdgConfigHome: join(root, 'config')};
};

/** `mfd init` or `mfd join` with free ports. */
export const makeNode = async (
  args: string[],
  {env, program = mfdFile, host}: Pick<Making, 'env' | 'program' | 'host'>,
): Promise<NodeReport> => {
  const options = [...args, '--json', ...(await freeListens(host?.address))];
  const {code, stdout, stderr} = await run(program, options, {env, ...(host && {within: host.within})});
  if (code !== 0) throw new Error(`mfd ${args[0]} failed: ${stderr}`);
  return JSON.parse(stdout) as NodeReport;
};

interface Making {
  report: NodeReport;
  xdgConfigHome: string;
  env: Record<string, string>;
  program?: string | undefined;
  /** The host on which the node runs, if not that of the tests. */
  host?: Host | undefined;
}

/** A node that has been created and not started yet. */
export const openNode = async (owner: Owner, {report, xdgConfigHome, env, program, host}: Making): Promise<TestNode> => {
  const agent = new Agent({keepAlive: true, ca: await readFile(report.ca_file, 'utf8')});
  owner.teardown(() => agent.destroy());
  let daemon: Daemon | undefined;
  let build = program;

  return {
    ...report,
    smtpPort: Number(report.smtp.split(':').at(-1)),
    xdgConfigHome,
    log: () => daemon?.stderr() ?? '',
    stdout: () => daemon?.stdout() ?? '',
    api: async (method, path, apiRequest = {}) => callApi(agent, report, {method, path, ...apiRequest}),
    mfctl: async (args, runOptions = {}) => run(mfctlFile, args, {...runOptions, env: {...env, ...runOptions.env}}),
    async start(more = {}) {
      daemon = startDaemon(owner, report.data, {...env, ...more}, {program: build, within: host?.within});
      await daemon.ready;
    },
    runWith(next) {
      build = next;
    },
    async stop(signal = 'SIGTERM') {
      daemon?.signal(signal);
      return (await daemon?.ended) ?? null;
    },
    signal: signal => daemon?.signal(signal),
    isRunning: () => daemon?.isRunning() ?? false,
    pid: () => daemon?.pid ?? 0,
  };
};

/** Later documents override the file written by init: their sections are merged into the file's sections. */
export const addToConfig = async (data: string, config: Record<string, unknown>): Promise<void> => {
  const file = join(data, 'mfd.yaml');
  const merged = parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  for (const [section, values] of Object.entries(config))
    merged[section] =
      typeof values === 'object' && values !== null && !Array.isArray(values)
        ? {...(merged[section] as object | undefined), ...values}
        : values;
  await writeFile(file, stringify(merged));
};
