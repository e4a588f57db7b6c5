// Which node has which host names in its certificates, as the authority itself knows it. It judges new requests by this list, and
// not by what the nodes' records say: any node could have put something else there.

import {canonicalHost} from '../../../shared/host-port.ts';
import type {Store, TrustReads, TrustStore} from '../../services/ports.ts';
import type {StoredNode} from '../records.ts';
import {describedNames, type NameHolder} from './certificate-names.ts';
import type {IssuedName} from './stored-trust.ts';

export interface IssuedNames {
  /** To be called before the others, outside of any transaction. */
  prepare(): Promise<void>;
  /** The nodes of `nodes` with the names that were issued to them. */
  holders(trust: TrustReads, nodes: readonly StoredNode[]): Promise<NameHolder<StoredNode>[]>;
  /** Notes, in the transaction of `trust`, what the newest certificate of a node is for. */
  issued(trust: TrustStore, nodeNo: number, hosts: readonly string[]): Promise<void>;
  /** A node has shown a certificate of this authority: it was issued, also where the list of that is gone. */
  shown(nodeNo: number, hosts: readonly string[]): Promise<void>;
}

interface Needs {
  store: Store;
  /** Whether this node can issue certificates at all. */
  hasAuthority: boolean;
  /** The nodes of the cluster now: their own names are the first list, where nothing was noted before. */
  nodes(): readonly StoredNode[];
}

export const createIssuedNames = ({store, hasAuthority, nodes}: Needs): IssuedNames => {
  const noted = new Set<string>();
  let begun: Promise<void> | undefined;

  /** For an authority that has issued certificates before it kept a list, and for one whose key was moved here. */
  const begin = async (): Promise<void> => {
    const known = await store.trust.listIssuedNames();
    const first = known.length > 0 ? [] : describedNames(nodes()).flatMap(toRows);
    if (first.length > 0) await store.transaction(async tx => tx.trust.addIssuedNames(first));
    for (const row of [...known, ...first]) noted.add(nameOf(row));
  };
  const prepare = async (): Promise<void> => {
    begun ??= begin().catch(error => {
      begun = undefined;
      throw error;
    });
    await begun;
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
      noted.clear();
    },

    async shown(nodeNo, hosts) {
      if (!hasAuthority) return;
      await prepare();
      const fresh = hosts.map(host => ({node_no: nodeNo, host: canonicalHost(host)})).filter(row => !noted.has(nameOf(row)));
      if (fresh.length === 0) return;
      await store.transaction(async tx => tx.trust.addIssuedNames(fresh));
      for (const row of fresh) noted.add(nameOf(row));
    },
  };
};

const toRows = ({node, names}: NameHolder<StoredNode>): IssuedName[] => names.map(host => ({node_no: node.id, host}));

const nameOf = ({node_no, host}: IssuedName): string => `${node_no} ${host}`;
