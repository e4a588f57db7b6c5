// Ownership of host names by nodes. A node with a certificate for the name of another node could impersonate it to clients.
import {canonicalHost, isLoopback, parseHostPort} from '../../../shared/host-port.ts';
import type {Store, TrustReads, TrustStore} from '../ports.ts';
import type {StoredNode} from '../records.ts';
import type {IssuedName} from './stored-trust.ts';

/** A node and the names and addresses that it owns. */
export interface NameHolder<N extends {node_id: string}> {
  node: N;
  /** Canonical, see `canonicalHost`. */
  names: readonly string[];
}

export interface CertificateSubject<N> {
  node_id: string;
  /** The names in its current certificate. It keeps them, even if other nodes request them. */
  currentNames: readonly string[];
  /** Whether it runs on the same machine as `node`: such nodes share a name and addresses. */
  isColocated(node: N): boolean;
}

/** The other node that owns `host`; undefined if the subject may use it. */
export const ownerOf = <N extends {node_id: string}>(
  host: string,
  holders: readonly NameHolder<N>[],
  {node_id, currentNames, isColocated}: CertificateSubject<N>,
): N | undefined => {
  const name = canonicalHost(host);
  if (isLoopback(name) || currentNames.some(one => canonicalHost(one) === name)) return undefined;
  return holders.find(({node, names}) => node.node_id !== node_id && names.includes(name) && !isColocated(node))?.node;
};

/** Those of `hosts` that a certificate of the subject may contain. */
export const ownNames = <N extends {node_id: string}>(
  hosts: readonly string[],
  holders: readonly NameHolder<N>[],
  subject: CertificateSubject<N>,
): string[] => hosts.filter(host => !ownerOf(host, holders, subject));

/** The names and URLs that a node has announced. */
export type NamedNode = Pick<StoredNode, 'node_id' | 'fqdn' | 'cluster_url' | 'api_url'>;

/** The nodes with their names according to their records. */
export const describedNames = <N extends NamedNode>(nodes: readonly N[]): NameHolder<N>[] =>
  nodes.map(node => ({node, names: namesOf(node)}));

/** The host names and addresses of a node, canonical. */
export const namesOf = ({fqdn, cluster_url, api_url}: Pick<NamedNode, 'fqdn' | 'cluster_url' | 'api_url'>): string[] =>
  [...new Set([fqdn, hostOf(cluster_url), hostOf(api_url)].map(canonicalHost))].filter(name => name !== '');

const hostOf = (url: string | null): string => parseHostPort((url ?? '').replace(/^https:\/\//, ''))?.host ?? '';

// List of the host names that the authority has issued to each node. It checks new requests against this list rather than the node
// records, because another node could have changed those.

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
