// Ownership of host names by nodes. A node with a certificate for the name of another node could impersonate it to clients.
import {canonicalHost, isLoopback, parseHostPort} from '../../../shared/host-port.ts';
import type {Store, TrustReads, TrustStore} from '../ports.ts';
import type {StoredNode} from '../records.ts';
import type {IssuedName} from './stored-trust.ts';

/** A node and the names and addresses that it owns. */
export interface NameHolder {
  node: StoredNode;
  /** Canonical, see `canonicalHost`. */
  names: readonly string[];
}

export interface CertificateSubject {
  node_id: string;
  /** The names in its current certificate. It keeps them, even if other nodes request them. */
  currentNames: readonly string[];
  /** Whether it runs on the same machine as `node`: such nodes share a name and addresses. */
  isColocated(node: StoredNode): boolean;
}

/** The other node that owns `host`; undefined if the subject may use it. */
export const ownerOf = (
  host: string,
  holders: readonly NameHolder[],
  {node_id, currentNames, isColocated}: CertificateSubject,
): StoredNode | undefined => {
  const name = canonicalHost(host);
  if (isLoopback(name) || currentNames.some(one => canonicalHost(one) === name)) return undefined;
  return holders.find(({node, names}) => node.node_id !== node_id && names.includes(name) && !isColocated(node))?.node;
};

/** Those of `hosts` that a certificate of the subject may contain. */
export const ownNames = (hosts: readonly string[], holders: readonly NameHolder[], subject: CertificateSubject): string[] =>
  hosts.filter(host => !ownerOf(host, holders, subject));

/** The nodes with their names according to their records. */
export const describedNames = (nodes: readonly StoredNode[]): NameHolder[] => nodes.map(node => ({node, names: namesOf(node)}));

/** The host names and addresses of a node, canonical. */
export const namesOf = ({fqdn, cluster_url, api_url}: Pick<StoredNode, 'fqdn' | 'cluster_url' | 'api_url'>): string[] =>
  [...new Set([fqdn, hostOf(cluster_url), hostOf(api_url)].map(canonicalHost))].filter(name => name !== '');

const hostOf = (url: string | null): string => parseHostPort((url ?? '').replace(/^https:\/\//, ''))?.host ?? '';

// List of the host names that the authority has issued to each node. It checks new requests against this list rather than the node
// records, because another node could have changed those.

export interface IssuedNames {
  /** Starts the list if there is none yet. Call it before `holders` and `issued`, outside of any transaction. */
  prepare(): Promise<void>;
  /** Each of `nodes` with the names that were issued to it. */
  holders(trust: TrustReads, nodes: readonly StoredNode[]): Promise<NameHolder[]>;
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
  /** There is none if the authority issued certificates before this list existed, or if its key was moved here. */
  const startedList = async (): Promise<IssuedName[]> => {
    const known = await store.trust.listIssuedNames();
    if (known.length > 0) return known;
    const first = describedNames(nodes()).flatMap(toRows);
    await store.transaction(async tx => tx.trust.addIssuedNames(first));
    return first;
  };

  return {
    prepare: async () => void (await startedList()),

    async holders(trust, members) {
      const names = await trust.listIssuedNames();
      return members.map(node => ({
        node,
        names: names.filter(({node_no}) => node_no === node.id).map(({host}) => host),
      }));
    },

    issued: async (trust, nodeNo, hosts) => trust.replaceIssuedNames(nodeNo, hosts.map(canonicalHost)),

    async shown(nodeNo, hosts) {
      if (!hasAuthority) return;
      const stored = new Set((await startedList()).filter(({node_no}) => node_no === nodeNo).map(({host}) => host));
      const fresh = hosts.map(canonicalHost).filter(host => !stored.has(host));
      if (fresh.length === 0) return;
      await store.transaction(async tx => tx.trust.addIssuedNames(fresh.map(host => ({node_no: nodeNo, host}))));
    },
  };
};

const toRows = ({node, names}: NameHolder): IssuedName[] => names.map(host => ({node_no: node.id, host}));

// Validity of a node's certificate. A node that was off for long, or whose authority was away, has only an expired certificate. With
// that it can request a new certificate, and nothing else.

/** The certificate that a peer has presented, after its signature was verified. */
export interface ShownCertificate {
  subjectAltName: string | undefined;
  /** Milliseconds since 1970. */
  endMs: number;
}

/** `ended`: expired, but accepted to request a new certificate. `outdated`: not accepted at all. */
export type Validity = 'valid' | 'ended' | 'outdated';

const renewableMs = 366 * 24 * 3600 * 1000;

export const validityOf = ({endMs}: Pick<ShownCertificate, 'endMs'>, nowMs: number): Validity => {
  if (nowMs < endMs) return 'valid';
  return nowMs < endMs + renewableMs ? 'ended' : 'outdated';
};
