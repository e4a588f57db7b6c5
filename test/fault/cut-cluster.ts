// A cluster whose lines fail on request, with the ledgers of its mail and its configuration.
import {type Cluster, type ClusterNode, startCluster} from '../helpers/cluster.ts';
import type {Owner} from '../helpers/daemon.ts';
import {eventually} from '../helpers/eventually.ts';
import type {ProxyMode} from '../helpers/tcp-proxy.ts';
import {type ConfigEdits, createConfigEdits} from './config-edits.ts';
import {type Cuts, createMailBook, type MailBook} from './mail-book.ts';
import type {Precedes} from './merge-ledger.ts';
import {patient} from './patient-node.ts';

export interface Cut {
  from: string;
  to: string;
  mode: ProxyMode;
}

export interface CutCluster {
  cluster: Cluster<string>;
  nodes: readonly ClusterNode[];
  node(name: string): ClusterNode;
  /** A full-admin key without an effective rate limit. */
  key: string;
  edits: ConfigEdits;
  book: MailBook;
  /** The current cuts; `set` cuts these lines and restores all others. */
  cuts: Cuts & {set(cuts: readonly Cut[]): void};
  /** Resolves once all nodes report the same configuration. */
  alike(withinMs: number): Promise<void>;
}

interface Options {
  names: readonly string[];
  precedes: Precedes;
  config?: Record<string, Record<string, unknown>>;
  env?: Record<string, Record<string, string>>;
}

/** The domain whose mail is all held. */
const heldDomain = 'held.test';
const setUpMs = 120_000;

export const startCutCluster = async (owner: Owner, {names, precedes, config, env}: Options): Promise<CutCluster> => {
  const cluster = await startCluster<string>(owner, {
    nodes: names,
    config: {log: {level: 'warn'}, ...config},
    ...(env && {env}),
  });
  const nodes = Object.values(cluster.nodes).map(patient);
  const [founder] = nodes as [ClusterNode];
  const {key} = await founder.createKey('full-admin', {rate_limit_per_minute: 1_000_000});
  await founder.createDomain({name: heldDomain, quarantine_threshold: -1000, reject_threshold: 10_000});
  await cluster.converged(setUpMs);
  const cuts = createCuts(cluster);
  const needs = {key, cuts};

  const ownHash = async (node: ClusterNode): Promise<string | undefined> => {
    const {status, json} = await node.api('GET', 'cluster/status', {key});
    if (status !== 200) return undefined;
    return json.data.peers.find((peer: {node_id: string}) => peer.node_id === node.node_id)?.config_hash;
  };

  return {
    cluster,
    nodes,
    node: name => {
      const found = nodes.find(({node_id}) => node_id === name);
      if (!found) throw new Error(`there is no node ${name}`);
      return found;
    },
    key,
    cuts,
    edits: createConfigEdits({...needs, nodes, precedes}),
    book: createMailBook({...needs, domain: heldDomain, sink: cluster.sink}),
    async alike(withinMs) {
      await eventually(async () => {
        const [first, ...others] = await Promise.all(nodes.map(ownHash));
        return first !== undefined && others.every(hash => hash === first);
      }, withinMs);
    },
  };
};

const createCuts = (cluster: Cluster<string>): CutCluster['cuts'] => {
  let version = 0;
  let current: readonly Cut[] = [];
  return {
    version: () => version,
    of: from =>
      current
        .filter(cut => cut.from === from)
        .map(({to}) => to)
        .sort(),
    set(cuts) {
      version += 1;
      current = cuts;
      cluster.heal();
      for (const {from, to, mode} of cuts) cluster.line(from, to).setMode(mode);
    },
  };
};
