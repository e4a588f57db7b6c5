// Certificate renewal of a node: certificates last 90 days and are renewed after two thirds of that, without a restart.

import {canonicalHost} from '../../shared/host-port.ts';
import {createRequest, needsRenewal} from '../cluster/certificates.ts';
import {identityUris} from '../cluster/peer-identity.ts';
import {readText} from '../config/load.ts';
import type {Config} from '../config/schema.ts';
import type {NodeIdentity} from '../services/actor.ts';
import type {Authority} from '../services/cluster/authority.ts';
import type {CertificateRequests, Certificates} from '../services/cluster/join-protocol.ts';
import {CommandError} from './command-error.ts';
import type {DataFolder} from './data-folder.ts';
import {
  certificateHosts,
  expiryOf,
  type NodePairs,
  operatorPair,
  readPairs,
  requireOurs,
  type ShownPairs,
  withAuthority,
  writePairs,
} from './tls-files.ts';

export interface CertificateRenewal {
  /** The certificates for new connections. */
  current(): ShownPairs;
  /** Since when peers reject this node because its certificate has expired; undefined while it is valid. */
  cutOffSince(): Date | undefined;
  /**
   * Reads the files again, and renews certificates that are old or whose names have changed. Resolves with whether `current` has
   * changed. A node without an authority asks a node that has one by `askPeers`. Rejects when renewal is not possible yet: the
   * old certificates stay, except for the operator's own. After a failure it pauses before the next attempt, unless `isForced` or
   * this node is cut off.
   */
  refresh(askPeers: AskPeers, isForced?: boolean): Promise<boolean>;
}

export type AskPeers = (requests: CertificateRequests) => Promise<Certificates>;

interface Needs {
  folder: DataFolder;
  identity: NodeIdentity;
  config(): Config;
  /** The names for new certificates, when the present ones already contain `current`. */
  hosts(current: string[]): string[];
  /** This node's own authority, if it has one. */
  authority(): Promise<Authority | undefined>;
  now(): number;
}

const retry = {firstMs: 60_000, mostMs: 3_600_000};

/**
 * Throws a CommandError when a file is missing or damaged and this node has no authority to replace it. An expired certificate is
 * no error: mail does not depend on the cluster.
 */
export const openCertificates = async (needs: Needs): Promise<CertificateRenewal> => {
  const {folder, identity, config, now} = needs;

  /** Names that the authority refused because they belong to another node: they are requested again only at the next renewal. */
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
  const shown = async (pairs: NodePairs): Promise<ShownPairs> => {
    const api = (await operatorPair(config(), 'api')) ?? withAuthority(pairs.api, await readText(folder.caCert, folder.caCert));
    return {...pairs, api, pages: (await operatorPair(config(), 'recipients')) ?? api};
  };
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

  /** The pairs on disk. */
  let held = await begin();
  let current = await shown(held);
  let failures = 0;
  let tryAfter = 0;
  const refreshOnce = async (askPeers: AskPeers, isForced: boolean): Promise<boolean> => {
    try {
      if (isForced) refused = [];
      held = await again(askPeers);
      const next = await shown(held);
      const isOther = hasOther(current, next);
      const isRenewed = next.cluster.cert !== current.cluster.cert;
      // The clock of the issuing node may differ: this must not cause repeated renewals.
      tryAfter = isRenewed ? performance.now() + retry.mostMs : 0;
      if (isRenewed) {
        const issued = certificateHosts(next.cluster.cert).map(canonicalHost);
        refused = hostsWith(current).filter(host => !issued.includes(canonicalHost(host)));
      }
      current = next;
      failures = 0;
      return isOther;
    } catch (error) {
      tryAfter = performance.now() + Math.min(retry.mostMs, retry.firstMs * 2 ** failures);
      failures += 1;
      // A new certificate of the operator is used even so.
      current = await shown(held).catch(() => current);
      throw error;
    }
  };
  // One at a time: concurrent runs would mix up their files.
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
      const next = refreshing.catch(() => {}).then(async () => (isForced || isTime() ? refreshOnce(askPeers, isForced) : false));
      refreshing = next;
      return next;
    },
  };
};

export const hasOther = (one: ShownPairs, other: ShownPairs): boolean =>
  (['api', 'cluster', 'pages'] as const).some(name => one[name].cert !== other[name].cert);

interface PairNeeds {
  folder: DataFolder;
  identity: NodeIdentity;
  hosts: string[];
  certify: Authority['certify'];
}

/** Keys are created on this node and never leave it; `certify` issues their certificates. */
export const makePairs = async ({folder, identity, hosts, certify}: PairNeeds): Promise<NodePairs> => {
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
