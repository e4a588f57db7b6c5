// A node's certificates over the years: they last 90 days and are made anew at two thirds of that, without a restart.
import {X509Certificate} from 'node:crypto';
import {createRequest, needsRenewal} from './cluster/certificates.ts';
import {hostsIn, identityUris} from './cluster/peer-identity.ts';
import {CommandError} from './command-error.ts';
import {readText} from './config/load.ts';
import type {Config} from './config/schema.ts';
import type {DataFolder} from './data-folder.ts';
import type {Authority} from './services/authority.ts';
import type {CertificateRequests, Certificates} from './services/join-protocol.ts';
import type {NodeIdentity} from './services/ports.ts';
import {expiryOf, type NodePairs, operatorPair, readPairs, requireOurs, withAuthority, writePairs} from './tls-files.ts';

export interface CertificateKeeper {
  /** What new connections are shown. */
  current(): NodePairs;
  /**
   * Reads the files again, and makes anew what has grown old or has other names now. Resolves with whether `current` is another.
   * Rejects when that cannot be done yet: everything goes on as it was, and for a while nothing is tried unless `isForced`.
   */
  refresh(isForced?: boolean): Promise<boolean>;
}

interface Needs {
  folder: DataFolder;
  identity: NodeIdentity;
  config(): Config;
  /** What the certificates are to be for, when those there are already are for `given`. */
  hosts(given: string[]): string[];
  /** This node's own, if it has one. */
  authority(): Promise<Authority | undefined>;
  /** Asks a node that has one. */
  askPeers(requests: CertificateRequests): Promise<Certificates>;
  now(): number;
}

const retry = {firstMs: 60_000, mostMs: 3_600_000};

/** A CommandError when there is nothing that peers would accept, and no authority here to make it. */
export const openCertificates = async (needs: Needs): Promise<CertificateKeeper> => {
  const {folder, identity, config, now} = needs;

  const hostsWith = ({cluster}: Partial<NodePairs>): string[] =>
    needs.hosts(hostsIn(cluster && new X509Certificate(cluster.cert).subjectAltName));
  const isDue = (found: Partial<NodePairs>): boolean => {
    const {api, cluster} = found;
    const hosts = hostsWith(found);
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
    return own ? renew(found, own.certify) : requireUsable(found, folder, now());
  };
  const again = async (): Promise<NodePairs> => {
    const found = await readPairs(folder);
    if (!isDue(found)) return found as NodePairs;
    const own = await needs.authority();
    return renew(found, own ? own.certify : async (_, requests) => needs.askPeers(requests));
  };

  let current = await shown(await begin());
  let failures = 0;
  let tryAfter = 0;
  const look = async (): Promise<boolean> => {
    try {
      const next = await shown(await again());
      const isOther = next.api.cert !== current.api.cert || next.cluster.cert !== current.cluster.cert;
      // Whoever issues them may see other names in them than this node does: that must not become one renewal after another.
      tryAfter = next.cluster.cert === current.cluster.cert ? 0 : performance.now() + retry.mostMs;
      current = next;
      failures = 0;
      return isOther;
    } catch (error) {
      tryAfter = performance.now() + Math.min(retry.mostMs, retry.firstMs * 2 ** failures);
      failures += 1;
      throw error;
    }
  };
  // One at a time: the files of two would get mixed up.
  let looking: Promise<unknown> = Promise.resolve();
  return {
    current: () => current,
    async refresh(isForced = false) {
      const turn = looking.catch(() => {}).then(async () => (isForced || performance.now() >= tryAfter ? look() : false));
      looking = turn;
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

const requireUsable = ({api, cluster}: Partial<NodePairs>, folder: DataFolder, nowMs: number): NodePairs => {
  const wayOut = `put the cluster’s ca.key into ${folder.tls} for one start, or join again with a new token`;
  if (!api || !cluster) throw new CommandError(`a certificate or key in ${folder.tls} is missing or damaged; ${wayOut}`);
  const expired = expiryOf(cluster);
  if (expired.getTime() <= nowMs)
    throw new CommandError(`its certificate expired on ${expired.toISOString().slice(0, 10)}; ${wayOut}`);
  return {api, cluster};
};
