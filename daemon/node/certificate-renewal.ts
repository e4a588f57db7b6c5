// A node's certificates over the years: they last 90 days and are made anew at two thirds of that, without a restart.
import {canonicalHost} from '../../shared/host-port.ts';
import {createRequest, needsRenewal} from '../cluster/certificates.ts';
import {identityUris} from '../cluster/peer-identity.ts';
import {readText} from '../config/load.ts';
import type {Config} from '../config/schema.ts';
import type {Authority} from '../services/cluster/authority.ts';
import type {CertificateRequests, Certificates} from '../services/cluster/join-protocol.ts';
import type {NodeIdentity} from '../services/ports.ts';
import {CommandError} from './command-error.ts';
import type {DataFolder} from './data-folder.ts';
import {
  certificateHosts,
  expiryOf,
  type NodePairs,
  operatorPair,
  readPairs,
  requireOurs,
  withAuthority,
  writePairs,
} from './tls-files.ts';

export interface CertificateRenewal {
  /** What new connections are shown. */
  current(): NodePairs;
  /** Since when peers hear this node no more, as its certificate has ended; undefined while it is good. */
  cutOffSince(): Date | undefined;
  /**
   * Reads the files again, and makes anew what has grown old or has other names now. Resolves with whether `current` is another.
   * Without an authority of its own it asks a node that has one by `askPeers`. Rejects when that cannot be done yet: all but the operator's own
   * certificate goes on as it was, and for a while nothing is tried unless `isForced`, or this node is cut off.
   */
  refresh(askPeers: AskPeers, isForced?: boolean): Promise<boolean>;
}

export type AskPeers = (requests: CertificateRequests) => Promise<Certificates>;

interface Needs {
  folder: DataFolder;
  identity: NodeIdentity;
  config(): Config;
  /** What the certificates are to be for, when those there are already are for `given`. */
  hosts(given: string[]): string[];
  /** This node's own, if it has one. */
  authority(): Promise<Authority | undefined>;
  now(): number;
}

const retry = {firstMs: 60_000, mostMs: 3_600_000};

/**
 * A CommandError when a file is missing or damaged, and there is no authority here to make it anew. A certificate that has ended is none:
 * mail does not wait for the cluster.
 */
export const openCertificates = async (needs: Needs): Promise<CertificateRenewal> => {
  const {folder, identity, config, now} = needs;

  /** Names that the authority has left out, as they are another node's: they are asked for again at the next renewal only. */
  let refused: string[] = [];
  const hostsWith = ({cluster}: Partial<NodePairs>): string[] => needs.hosts(cluster ? certificateHosts(cluster.cert) : []);
  const isDue = (found: Partial<NodePairs>): boolean => {
    const {api, cluster} = found;
    const hosts = hostsWith(found).filter(host => !refused.includes(host));
    return (
      !api ||
      !cluster ||
      needsRenewal(api.cert, {hosts}, now()) ||
      needsRenewal(cluster.cert, {hosts, uris: identityUris(identity)}, now())
    );
  };
  const shown = async (pairs: NodePairs): Promise<NodePairs> => ({
    ...pairs,
    api: (await operatorPair(config())) ?? withAuthority(pairs.api, await readText(folder.caCert, folder.caCert)),
  });
  const renew = async (found: Partial<NodePairs>, certify: Authority['certify']) =>
    makePairs({folder, identity, hosts: hostsWith(found), certify});

  const begin = async (): Promise<NodePairs> => {
    const found = await readPairs(folder);
    const own = isDue(found) ? await needs.authority() : undefined;
    return own ? renew(found, own.certify) : requireWhole(found, folder);
  };
  const again = async (askPeers: AskPeers): Promise<NodePairs> => {
    const found = await readPairs(folder);
    if (!isDue(found)) return found as NodePairs;
    const own = await needs.authority();
    return renew(found, own ? own.certify : async (_, requests) => askPeers(requests));
  };

  /** As they are on disk. */
  let held = await begin();
  let current = await shown(held);
  let failures = 0;
  let tryAfter = 0;
  const refreshOnce = async (askPeers: AskPeers, isForced: boolean): Promise<boolean> => {
    try {
      if (isForced) refused = [];
      held = await again(askPeers);
      const next = await shown(held);
      const isOther = next.api.cert !== current.api.cert || next.cluster.cert !== current.cluster.cert;
      const isRenewed = next.cluster.cert !== current.cluster.cert;
      // Whoever issues them may have another clock than this node: that must not become one renewal after another.
      tryAfter = isRenewed ? performance.now() + retry.mostMs : 0;
      if (isRenewed) {
        const given = certificateHosts(next.cluster.cert).map(canonicalHost);
        refused = hostsWith(current).filter(host => !given.includes(canonicalHost(host)));
      }
      current = next;
      failures = 0;
      return isOther;
    } catch (error) {
      tryAfter = performance.now() + Math.min(retry.mostMs, retry.firstMs * 2 ** failures);
      failures += 1;
      // What the operator has put in its place is shown all the same.
      current = await shown(held).catch(() => current);
      throw error;
    }
  };
  // One at a time: the files of two would get mixed up.
  let refreshing: Promise<unknown> = Promise.resolve();
  const cutOffSince = (): Date | undefined => {
    const end = expiryOf(current.cluster);
    return end.getTime() <= now() ? end : undefined;
  };
  const isTime = (): boolean => cutOffSince() !== undefined || performance.now() >= tryAfter;
  return {
    current: () => current,
    cutOffSince,
    async refresh(askPeers, isForced = false) {
      const turn = refreshing.catch(() => {}).then(async () => (isForced || isTime() ? refreshOnce(askPeers, isForced) : false));
      refreshing = turn;
      return turn;
    },
  };
};

interface Making {
  folder: DataFolder;
  identity: NodeIdentity;
  hosts: string[];
  certify: Authority['certify'];
}

/** Keys are made here and never leave; the certificates for them come from `certify`. */
export const makePairs = async ({folder, identity, hosts, certify}: Making): Promise<NodePairs> => {
  const [cluster, api] = [await createRequest(), await createRequest()];
  const {node_cert, api_cert} = await certify(identity, {
    node_csr: cluster.request,
    api_csr: api.request,
    api_hosts: hosts,
  });
  const pairs = {api: {key: api.key, cert: api_cert}, cluster: {key: cluster.key, cert: node_cert}};
  requireOurs(pairs, await readText(folder.caCert, folder.caCert), identity);
  await writePairs(folder, pairs);
  return pairs;
};

const requireWhole = ({api, cluster}: Partial<NodePairs>, {tls}: DataFolder): NodePairs => {
  if (api && cluster) return {api, cluster};
  throw new CommandError(
    `a certificate or key in ${tls} is missing or damaged; put the cluster’s ca.key into ${tls} for one start, or join again with a new token`,
  );
};
