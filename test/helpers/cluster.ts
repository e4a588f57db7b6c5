// A test cluster: the first node is created by `mfd init`, the others by `mfd join`, each as a process of its own.
import {join} from 'node:path';
import type {AuditEntry} from '../../shared/audit-entry.ts';
import type {ClusterStatus} from '../../shared/cluster-status.ts';
import type {Domain} from '../../shared/domain.ts';
import {parseHostPort} from '../../shared/host-port.ts';
import {type Lines, startLines} from './cluster-lines.ts';
import type {Owner} from './daemon.ts';
import {eventually} from './eventually.ts';
import {createMailNode, type MailNode} from './mail-node.ts';
import type {Network} from './network.ts';
import {addToConfig, makeNode, type NodeReport, nodeFolder, openNode} from './node.ts';
import {commonHash, initStore, joinStore} from './node-store.ts';
import type {PostgresServer} from './postgres-server.ts';
import {mfctlFile, run} from './program.ts';
import {type SmtpSink, startSmtpSink} from './smtp-sink.ts';
import type {ProxyMode} from './tcp-proxy.ts';

export interface ClusterNode extends MailNode {
  /** The domain as this node has it; undefined when the node has no domain with that id. */
  domain(id: number): Promise<Domain | undefined>;
  status(): Promise<ClusterStatus>;
  /** This node's own entries of one action, newest first. */
  audit(action: string): Promise<AuditEntry[]>;
}

export interface ClusterOptions<Name extends string> {
  /** The first node founds the cluster. Three nodes by default. */
  nodes?: readonly Name[];
  /** Nodes that may be added later. */
  spare?: readonly string[];
  /** Merged into every mfd.yaml, section by section. */
  config?: Record<string, Record<string, unknown>>;
  /** Sections for single nodes, merged after `config`. */
  configOf?: Partial<Record<string, Record<string, unknown>>>;
  /** Environment of single daemons. */
  env?: Record<string, Record<string, string>>;
  /** False: nodes connect to each other directly. */
  isProxied?: boolean;
  /** The network on which each node runs on a host of the same name; `isProxied` must be false. */
  network?: Network;
  /** The database of all nodes; without it, see `node-store.ts`. */
  postgres?: PostgresServer;
  /** The folder in which the folders of the nodes are created. */
  folder?: string;
  /** Another build of mfd to run. */
  program?: string;
  /** Another build of mfd, used to create the nodes with `mfd init` and `mfd join`. */
  maker?: string;
}

export interface Cluster<Name extends string = string> {
  nodes: Record<Name, ClusterNode>;
  /** The mail server of all domains. */
  sink: SmtpSink;
  line: Lines['line'];
  /** Cuts the lines between two groups; lines within each group stay as they are. */
  partition(one: Name[], other: Name[], mode?: ProxyMode): void;
  isolate(name: Name, mode?: ProxyMode): void;
  heal(): void;
  /** Creates, joins and starts one more node, or joins a removed node again. */
  addNode(name: string): Promise<ClusterNode>;
  /**
   * Waits until all running nodes report the same about all running nodes, with nothing pending; resolves with the configuration
   * hash.
   */
  converged(withinMs?: number): Promise<string>;
}

const threeNodes = ['alpha', 'beta', 'gamma'] as const;
export type ThreeNodes = (typeof threeNodes)[number];

export const startCluster = async <Name extends string = ThreeNodes>(
  owner: Owner,
  options: ClusterOptions<Name> = {},
): Promise<Cluster<Name>> => {
  const names = options.nodes ?? (threeNodes as readonly string[] as readonly Name[]);
  const everybody = [...names, ...(options.spare ?? [])];
  const members = new Map<string, ClusterNode>();
  const addresses = new Map<string, string>();
  const {network} = options;
  const sink = await startSmtpSink(owner, network && {listen: {host: network.address, port: 0}});
  const lines = await startLines(owner, options.isProxied === false ? [] : everybody, name =>
    parseHostPort((addresses.get(name) ?? '').replace('https://', '')),
  );

  const addNode = async (name: string): Promise<ClusterNode> => {
    const {root, xdgConfigHome} = await nodeFolder(owner, options.folder);
    const env = {XDG_CONFIG_HOME: xdgConfigHome, ...options.env?.[name]};
    const {config} = options;
    const host = network?.hosts[name];
    const made = {env, program: options.maker, host};
    // The hosts of a test network have no names.
    const named = ['--node-id', name, ...(host ? ['--fqdn', host.address] : [])];
    const report = await foundOrJoin(owner, runningOf(members)[0], ['--data', join(root, 'data'), ...named], {
      ...made,
      postgres: options.postgres,
    });
    await addToConfig(report.data, {
      // No name server answers on a test network, and a node says so after a minute.
      ...(network && {authentication: {verify: false}}),
      ...config,
      cluster: {
        heartbeat_interval: 1,
        ...(options.isProxied !== false && {routes: lines.routesOf(name)}),
        ...config?.cluster,
      },
      smtp: {reverse_lookup: false, ...config?.smtp},
    });
    await addToConfig(report.data, options.configOf?.[name] ?? {});
    addresses.set(name, report.cluster_url);
    const node = await openNode(owner, {report, xdgConfigHome, env, program: options.program, host});
    await node.start();
    const member = createClusterNode(createMailNode(node, sink));
    members.set(name, member);
    return member;
  };

  for (const name of names) await addNode(name);
  return {
    nodes: Object.fromEntries(members) as Record<Name, ClusterNode>,
    sink,
    line: lines.line,
    partition: (one, other, mode) => lines.partition([one, other], mode),
    isolate: (name, mode) => lines.partition([[name], everybody.filter(other => other !== name)], mode),
    heal: lines.heal,
    addNode,
    converged: async withinMs => convergence(runningOf(members), withinMs),
  };
};

const runningOf = (members: Map<string, ClusterNode>) => [...members.values()].filter(node => node.isRunning());

const foundOrJoin = async (
  owner: Owner,
  founder: ClusterNode | undefined,
  args: string[],
  {postgres, ...made}: Parameters<typeof makeNode>[1] & {postgres: PostgresServer | undefined},
): Promise<NodeReport> => {
  if (!founder) return makeNode(['init', ...args, ...(await initStore(owner, postgres))], made);
  const {status, json, body} = await founder.api('POST', 'cluster/tokens', {body: {}});
  if (status !== 201) throw new Error(`POST /cluster/tokens: ${status} ${body}`);
  const joined = await makeNode(['join', json.data.token, ...args, ...joinStore(postgres)], made);
  // The keys of the cluster are valid on every node; a node that joins creates no keys.
  return {...joined, api_key: founder.api_key};
};

const createClusterNode = (node: MailNode): ClusterNode => {
  const get = async (path: string) => {
    const {status, json, body} = await node.api('GET', path);
    if (status !== 200) throw new Error(`GET ${path} of ${node.node_id}: ${status} ${body}`);
    return json.data;
  };
  const mfctlEnv = {
    XDG_CONFIG_HOME: node.xdgConfigHome,
    MFCTL_URL: node.api_url,
    MFCTL_API_KEY: node.api_key,
    MFCTL_CACERT: node.ca_file,
  };

  return {
    ...node,
    mfctl: async (args, runOptions = {}) => run(mfctlFile, args, {...runOptions, env: {...mfctlEnv, ...runOptions.env}}),
    async domain(id) {
      const {status, json, body} = await node.api('GET', `domains/${id}`);
      if (status !== 200 && status !== 404) throw new Error(`GET domain ${id} of ${node.node_id}: ${status} ${body}`);
      return status === 200 ? json.data : undefined;
    },
    status: async () => get('cluster/status'),
    audit: async action => {
      const entries: AuditEntry[] = await get(`audit?action=${action}&limit=1000`);
      return entries.filter(({node_id}) => node_id === node.node_id);
    },
  };
};

const convergence = async (running: ClusterNode[], withinMs = 30_000): Promise<string> => {
  const ids = running.map(({node_id}) => node_id);
  let seen: string[] = [];
  try {
    return await eventually(async () => {
      const told = await Promise.all(
        running.map(async node => {
          const peers = (await node.status()).peers.filter(({node_id}) => ids.includes(node_id));
          return peers.map(peer => ({by: node.node_id, ...peer}));
        }),
      );
      const all = told.flat();
      seen = all.map(peer => `${peer.by} of ${peer.node_id}: ${peer.config_hash} behind ${peer.outbox_backlog_to_us}`);
      // A node with a common store takes a moment to read what it has just written.
      const hash = (await commonHash(running[0]?.data ?? '')) ?? all[0]?.config_hash;
      const isSettled = all.every(peer => peer.config_hash === hash && peer.outbox_backlog_to_us === 0);
      return isSettled && all.length === ids.length ** 2 && hash;
    }, withinMs);
  } catch (error) {
    throw new Error(`not converged:\n${seen.join('\n')}`, {cause: error});
  }
};
