// Trust of a node: its own certificates, the authority of its cluster, and the names in its certificates.
import {readFile} from 'node:fs/promises';
import {networkInterfaces} from 'node:os';
import type {Logger} from 'pino';
import type {KeyAndCertificate} from '../cluster/certificates.ts';
import {isTokenFor} from '../cluster/join-token.ts';
import type {Peers} from '../cluster/peers.ts';
import type {NodeIdentity} from '../services/access/actor.ts';
import type {Keys} from '../services/access/keys.ts';
import type {Authorities} from '../services/cluster/authority.ts';
import {createIssuedNames, describedNames, ownNames} from '../services/cluster/certificate-names.ts';
import {createJoinTokens} from '../services/cluster/join-tokens.ts';
import {createColocatedNodes, createJoining} from '../services/cluster/joining.ts';
import {createNodeAnnouncement} from '../services/cluster/membership.ts';
import type {PeerActors} from '../services/cluster/peer-actors.ts';
import {createRemoval} from '../services/cluster/removal.ts';
import type {AwaitReplication, Store} from '../services/ports.ts';
import {type AskPeers, type CertificateRenewal, openCertificates} from './certificate-renewal.ts';
import type {DataFolder} from './data-folder.ts';
import type {RunningConfig} from './live-settings.ts';
import type {Records} from './records.ts';
import {apiHosts, authorityIn} from './tls-files.ts';

interface Needs {
  folder: DataFolder;
  identity: NodeIdentity;
  running: Pick<RunningConfig, 'config'>;
  records: Pick<Records, 'nodeDirectory' | 'membership'>;
  log: Logger;
  now: () => number;
}

export type Trust = Awaited<ReturnType<typeof openTrust>>;

export const openTrust = async ({folder, identity, running, records: {nodeDirectory, membership}, log, now}: Needs) => {
  const authority = async () => authorityIn(folder, now);
  const hasAuthority = (await authority()) !== undefined;
  // A node asks once for names that the authority refuses. The node with the authority asks nobody.
  const subject = {node_id: identity.nodeId, isColocated: () => false};
  const certificates = await openCertificates({
    folder,
    identity,
    config: running.config,
    hosts(currentNames) {
      const wanted = apiHosts(running.config());
      return hasAuthority ? wanted : ownNames(wanted, describedNames(nodeDirectory.list()), {...subject, currentNames});
    },
    authority,
    now,
  });
  const cutOff = createCutOff({since: () => (membership.isRemoved() ? undefined : certificates.cutOffSince()), log});
  return {
    authority,
    /** Whether this node can issue certificates. */
    hasAuthority,
    /** Certificate of the cluster's authority, PEM. */
    ca: await readFile(folder.caCert, 'utf8'),
    certificates,
    cutOff,
  };
};

export interface CutOff {
  /** ISO 8601; undefined while the certificate is valid. */
  since(): string | undefined;
  /** Advice for the operator; undefined while the certificate is valid. */
  advice(): string | undefined;
  /** Logs a failed renewal of a node that is cut off, at once and then once an hour. Returns false for any other node. */
  couldNotRenew(error: unknown): boolean;
}

interface CutOffNeeds {
  since(): Date | undefined;
  log: Logger;
  /** Milliseconds, by a clock that never jumps. */
  monotonic?: () => number;
}

const logEveryMs = 3_600_000;

export const createCutOff = ({since, log, monotonic = performance.now.bind(performance)}: CutOffNeeds): CutOff => {
  let logAfterMs = Number.NEGATIVE_INFINITY;
  const advice = () => {
    const end = since();
    return end && cutOffText(end);
  };
  return {
    since: () => since()?.toISOString(),
    advice,
    couldNotRenew(error) {
      const text = advice();
      if (text === undefined) return false;
      if (monotonic() < logAfterMs) return true;
      logAfterMs = monotonic() + logEveryMs;
      log.error({err: error}, text);
      return true;
    },
  };
};

const cutOffText = (end: Date): string =>
  `this node is cut off from the cluster: its certificate ended at ${end.toISOString()} and no other node has renewed it; mail goes on. Start the node that has tls/ca.key, or put that file into tls/ of this node for one start`;

interface TrustServicesNeeds {
  store: Store;
  nodeNo: number;
  records: Pick<Records, 'configuration' | 'nodeDirectory'>;
  trust: Pick<Trust, 'ca' | 'hasAuthority'>;
  authorities: Authorities;
  keys: Pick<Keys, 'list'>;
  actors: PeerActors;
  awaitReplication: AwaitReplication;
  now: () => number;
}

export const createTrustServices = ({
  store,
  nodeNo,
  records,
  trust,
  authorities,
  keys,
  actors,
  now,
  ...needs
}: TrustServicesNeeds) => {
  const {configuration, nodeDirectory: directory} = records;
  const colocatedNodes = createColocatedNodes({nodeNo, ownAddresses});
  const issuedNames = createIssuedNames({store, hasAuthority: trust.hasAuthority, nodes: directory.list});
  const common = {configuration, authorities, directory, nodeNo, now};
  return {
    colocatedNodes,
    issuedNames,
    announcement: createNodeAnnouncement({configuration, nodeNo}),
    joinTokens: createJoinTokens({...common, actors, isOurs: token => isTokenFor(trust.ca, token)}),
    joining: createJoining({...common, store, issuedNames, colocatedNodes}),
    removal: createRemoval({...common, keys, awaitReplication: needs.awaitReplication}),
  };
};

const ownAddresses = (): string[] => Object.values(networkInterfaces()).flatMap(all => (all ?? []).map(({address}) => address));

interface CertificateUser {
  setCertificate(pair: KeyAndCertificate): void;
}

interface CertificateInstallerNeeds {
  certificates: CertificateRenewal;
  askPeers: AskPeers;
  /** Certificate of the cluster's authority, PEM. */
  ca: string;
  listeners: {api: CertificateUser; mail: CertificateUser; cluster: CertificateUser & {expel(): void}};
  peers: Pick<Peers, 'setCertificate'>;
  /** Records the names in this node's certificates. */
  noteNames(): Promise<void>;
  isRemoved(): boolean;
  cutOff: Pick<CutOff, 'couldNotRenew'>;
  log: Logger;
}

/** Checks the files and the age of the certificates, and installs new ones. Rejects when renewal fails, unless this node was removed or is cut off. */
export const createCertificateInstaller = (needs: CertificateInstallerNeeds): ((isForced?: boolean) => Promise<void>) => {
  const {certificates, ca, listeners, peers, cutOff, log} = needs;

  const install = async (): Promise<void> => {
    const {api, cluster} = certificates.current();
    await needs.noteNames();
    listeners.api.setCertificate(api);
    listeners.mail.setCertificate(api);
    listeners.cluster.setCertificate(cluster);
    peers.setCertificate({...cluster, ca});
    log.info('certificates renewed');
  };

  return async (isForced = false) => {
    listeners.cluster.expel();
    const before = certificates.current();
    const failure = await certificates.refresh(needs.askPeers, isForced).then(
      () => undefined,
      (error: unknown) => ({error}),
    );
    const {api, cluster} = certificates.current();
    if (api.cert !== before.api.cert || cluster.cert !== before.cluster.cert) await install();
    // The requests of a removed node always fail, which is logged elsewhere.
    if (failure && !needs.isRemoved() && !cutOff.couldNotRenew(failure.error)) throw failure.error;
  };
};
