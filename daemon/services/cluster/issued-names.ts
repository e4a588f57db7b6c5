// List of the host names that the authority has issued to each node. It checks new requests against this list rather than the node
// records, because another node could have changed those.

import {canonicalHost} from '../../../shared/host-port.ts';
import type {Store, TrustReads, TrustStore} from '../../services/ports.ts';
import type {StoredNode} from '../records.ts';
import {describedNames, type NameHolder} from './certificate-names.ts';
import type {IssuedName} from './stored-trust.ts';

export interface IssuedNames {
  /** Reads the list. Call it before the other methods, outside of any transaction. */
  prepare(): Promise<void>;
  /** Each of `nodes` with the names that were issued to it. */
  holders(trust: TrustReads, nodes: readonly StoredNode[]): Promise<NameHolder<StoredNode>[]>;
  /** Stores the names in the newest certificate of a node, in the transaction of `trust`. */
  issued(trust: TrustStore, nodeNo: number, hosts: readonly string[]): Promise<void>;
  /** Adds the names in a certificate that a node has presented: they were issued, even if the list was lost. */
  shown(nodeNo: number, hosts: readonly string[]): Promise<void>;
}

interface Needs {
  store: Store;
  /** Whether this node can issue certificates at all. */
  hasAuthority: boolean;
  /** The current nodes of the cluster. Their announced names start the list if it is empty. */
  nodes(): readonly StoredNode[];
}

export const createIssuedNames = ({store, hasAuthority, nodes}: Needs): IssuedNames => {
  /** Names known to be in the list, to avoid a transaction for each connection. */
  const stored = new Set<string>();
  let loading: Promise<void> | undefined;

  /** Starts the list if the authority issued certificates before this list existed, or if its key was moved here. */
  const load = async (): Promise<void> => {
    const known = await store.trust.listIssuedNames();
    const first = known.length > 0 ? [] : describedNames(nodes()).flatMap(toRows);
    if (first.length > 0) await store.transaction(async tx => tx.trust.addIssuedNames(first));
    for (const row of [...known, ...first]) stored.add(nameOf(row));
  };
  const prepare = async (): Promise<void> => {
    loading ??= load().catch(error => {
      loading = undefined;
      throw error;
    });
    await loading;
  };

  return {
    prepare,

    async holders(trust, members) {
      const names = await trust.listIssuedNames();
      return members.map(node => ({
        node,
        names: names.filter(({node_no}) => node_no === node.id).map(({host}) => host),
      }));
    },

    async issued(trust, nodeNo, hosts) {
      await trust.replaceIssuedNames(nodeNo, hosts.map(canonicalHost));
      stored.clear();
    },

    async shown(nodeNo, hosts) {
      if (!hasAuthority) return;
      await prepare();
      const fresh = hosts.map(host => ({node_no: nodeNo, host: canonicalHost(host)})).filter(row => !stored.has(nameOf(row)));
      if (fresh.length === 0) return;
      await store.transaction(async tx => tx.trust.addIssuedNames(fresh));
      for (const row of fresh) stored.add(nameOf(row));
    },
  };
};

const toRows = ({node, names}: NameHolder<StoredNode>): IssuedName[] => names.map(host => ({node_no: node.id, host}));

const nameOf = ({node_no, host}: IssuedName): string => `${node_no} ${host}`;
