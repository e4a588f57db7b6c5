// Three nodes with held mail in their databases, and a client that lists it.
import {readFile} from 'node:fs/promises';
import {Agent} from 'node:https';
import {join} from 'node:path';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import type {Owner} from '../helpers/daemon.ts';
import {databaseOf} from '../helpers/node-store.ts';
import type {PostgresServer} from '../helpers/postgres-server.ts';
import {openTestStore} from '../helpers/store.ts';
import {fillPostgres} from './held-postgres.ts';
import {fillStore} from './held-store.ts';
import {createLister, type Lister} from './lister.ts';

export interface ListedCluster {
  nodes: ClusterNode[];
  /** One lister for each node. */
  listers: Lister[];
  /** Number of mails held on all nodes together. */
  size: number;
}

export interface ListedOptions {
  size: number;
  newestMs: number;
  /** The database of all nodes; without it, each has its own. */
  postgres?: PostgresServer;
}

export const startListedCluster = async (owner: Owner, {size, newestMs, postgres}: ListedOptions): Promise<ListedCluster> => {
  const cluster = await startCluster(owner, {...(postgres && {postgres}), isProxied: false, config: {log: {level: 'warn'}}});
  const nodes = Object.values(cluster.nodes);
  const [first] = nodes as [ClusterNode];
  // The rate limit of the first key is made for people, not for continuous requests.
  const {key} = await first.createKey('full-admin', {rate_limit_per_minute: 1_000_000});
  await cluster.converged();
  if (postgres) {
    const client = await postgres.connect(await databaseOf(first.data));
    await fillPostgres(client, {count: size, newestMs, nodeIds: nodes.map(({node_id}) => node_id)});
    await client.end();
  } else await fillNodes(nodes, {size, newestMs});
  const listers = await Promise.all(
    nodes.map(async ({api_url, ca_file}) => {
      const agent = new Agent({keepAlive: true, ca: await readFile(ca_file, 'utf8')});
      owner.teardown(() => agent.destroy());
      return createLister({agent, url: `${api_url}/api/v1/mail/quarantine`, headers: {'X-API-Key': key}});
    }),
  );
  return {nodes, listers, size};
};

const fillNodes = async (nodes: readonly ClusterNode[], {size, newestMs}: ListedOptions): Promise<unknown> =>
  Promise.all(
    nodes.map(async ({data}, share) => {
      const store = await openTestStore(join(data, 'mfd.db'));
      // Filled by this process, beside the node: the data need not survive a power cut.
      await store.write.raw('PRAGMA synchronous = OFF');
      await store.write.raw('PRAGMA cache_size = -300000');
      await fillStore(store, {count: size, share, of: nodes.length, newestMs});
      await store.close();
    }),
  );
