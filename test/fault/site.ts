// A site for the durability faults: one node or several, a backend, and domains whose mail is held or relayed.
import type {ApiAnswer} from '../helpers/api-call.ts';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import type {Owner} from '../helpers/daemon.ts';
import {holdAll, relayAll} from '../helpers/mail-node.ts';
import {databaseOf} from '../helpers/node-store.ts';
import type {PostgresServer} from '../helpers/postgres-server.ts';
import type {SinkMail} from '../helpers/smtp-sink.ts';

export interface Site {
  nodes: readonly ClusterNode[];
  /** Uses a key without an effective rate limit. */
  ask(node: ClusterNode, method: string, path: string, body?: unknown): Promise<ApiAnswer>;
  /** Ids of the domains that each node changes, by node id. */
  domainIds: ReadonlyMap<string, number>;
  /** Greater each time. */
  nextValue(): number;
  /** The database that the nodes share; undefined where each has its own. */
  database: SharedDatabase | undefined;
  /** Mails that the backend has received since the last call. */
  takeDeliveries(): SinkMail[];
  /** Waits until all nodes have the same configuration and report it. */
  converged(withinMs: number): Promise<unknown>;
}

export interface SharedDatabase {
  server: PostgresServer;
  /** While the server is away on purpose, nodes may refuse what they are asked for. */
  isAway: boolean;
  query(sql: string): Promise<Record<string, unknown>[]>;
}

export interface SiteOptions {
  names: readonly string[];
  /** Another build of mfd to run. */
  program?: string;
  /** The database that the nodes share. */
  postgres?: PostgresServer;
  /** For all daemons. */
  env?: Record<string, string>;
  /** The folder in which the folders of the nodes are created. */
  folder?: string;
}

export const heldDomain = 'held.test';
export const relayedDomain = 'relayed.test';

export const startSite = async (owner: Owner, {names, env, ...options}: SiteOptions): Promise<Site> => {
  const {nodes, sink, converged} = await startCluster(owner, {
    nodes: names,
    isProxied: false,
    ...(env && {env: Object.fromEntries(names.map(name => [name, env]))}),
    ...options,
  });
  const all = Object.values(nodes);
  const founder = all[0] as ClusterNode;
  const {key} = await founder.createKey('full-admin', {rate_limit_per_minute: 1_000_000});
  const domainIds = new Map<string, number>();
  for (const {node_id} of all)
    domainIds.set(
      node_id,
      (await founder.createDomain({name: `${node_id.toLowerCase()}.test`, backend_servers: [founder.backend]})).id,
    );
  await founder.createDomain({name: heldDomain, backend_servers: [founder.backend], ...holdAll});
  await founder.createDomain({name: relayedDomain, backend_servers: [founder.backend], ...relayAll});
  await converged();
  let value = 0;

  return {
    nodes: all,
    ask: async (node, method, path, body) =>
      node.api(method, path, {key, ...(body !== undefined && {body})}).catch(error => {
        throw node.isRunning() ? error : ended(node, error);
      }),
    domainIds,
    nextValue() {
      value += 1;
      return value;
    },
    takeDeliveries: () => sink.mails.splice(0),
    converged,
    database: options.postgres && (await sharedDatabase(options.postgres, founder)),
  };
};

/** A node that ends by itself says why in its last lines. */
const ended = ({node_id, log}: ClusterNode, error: Error): Error =>
  new Error(`${error.message}: ${node_id} has ended; its log: ${log().slice(-2000)}`, {cause: error});

const sharedDatabase = async (server: PostgresServer, {data}: ClusterNode): Promise<SharedDatabase> => {
  const database = await databaseOf(data);
  return {server, isAway: false, query: async sql => server.query(sql, {database})};
};
