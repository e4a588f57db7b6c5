// The services and the hold queue of one node, wired to each other.
import {networkInterfaces} from 'node:os';
import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import {isTokenFor} from '../cluster/authority.ts';
import type {Peers} from '../cluster/peers.ts';
import type {Config} from '../config/schema.ts';
import type {Metrics} from '../http/metrics.ts';
import {createClusterRateLimits} from '../services/access/cluster-rate-limit.ts';
import {createKeyFailures} from '../services/access/key-failures.ts';
import {createKeys} from '../services/access/keys.ts';
import {createAudit, createAuditLog} from '../services/audit/audit.ts';
import type {Authorities} from '../services/cluster/authority.ts';
import {createCluster} from '../services/cluster/cluster.ts';
import {createColocatedNodes} from '../services/cluster/colocated-nodes.ts';
import {createIssuedNames} from '../services/cluster/issued-names.ts';
import {createJoinTokens} from '../services/cluster/join-tokens.ts';
import {createJoining} from '../services/cluster/joining.ts';
import {createNodeAnnouncement} from '../services/cluster/node-announcement.ts';
import {createPeerActors} from '../services/cluster/peer-actors.ts';
import {createRemoval} from '../services/cluster/removal.ts';
import {createBackendRules} from '../services/domains/backend-rules.ts';
import {createDomainParts} from '../services/domains/domain-parts.ts';
import {createDomains} from '../services/domains/domains.ts';
import type {NodeIdentity} from '../services/ports.ts';
import {createQuarantine} from '../services/quarantine/quarantine.ts';
import {createRetention} from '../services/quarantine/retention.ts';
import type {ClusterLinks} from './cluster.ts';
import type {CutOff} from './cut-off.ts';
import {openHold} from './hold.ts';
import type {LiveSettings} from './live-settings.ts';
import {followPeers, openEvents} from './peer-clients.ts';
import type {Records} from './records.ts';
import type {ReplicationParts} from './replication.ts';
import type {Storage} from './storage.ts';

/**
 * The doors, which close before, have given their grace already. A delivery that hangs longer is given up: at the next start
 * its mail is held again.
 */
const lastCallMs = 500;

export type Services = ReturnType<typeof createServices>;

interface Needs extends Pick<Storage, 'store' | 'spool' | 'reserveFile'> {
  identity: NodeIdentity;
  fqdn: string;
  /** Certificate of the cluster's authority, PEM. */
  ca: string;
  postfixConfig: Config['postfix'];
  /** Where the API is expected to be reached until this node has said so itself. */
  apiUrl: string;
  records: Records;
  peers: Peers;
  authorities: Authorities;
  /** Whether this node can issue certificates. */
  hasAuthority: boolean;
  replicated: Pick<ReplicationParts, 'limiter' | 'refusals'>;
  links: Pick<ClusterLinks, 'awaitReplication' | 'sendHeartbeats'>;
  settings(): LiveSettings;
  cutOff: CutOff;
  metrics: Metrics;
  log: Logger;
  now: () => number;
}

export const createServices = ({
  store,
  spool,
  reserveFile,
  identity: {nodeId, nodeNo},
  fqdn,
  ca,
  records,
  peers,
  authorities,
  hasAuthority,
  replicated: {limiter, refusals},
  links: {awaitReplication, sendHeartbeats},
  settings,
  metrics,
  log,
  now,
  ...needs
}: Needs) => {
  const {configuration, keyDirectory, domainDirectory, nodeDirectory, peerStates, membership} = records;
  const colocatedNodes = createColocatedNodes({nodeNo, ownAddresses});
  const trust = {
    store,
    configuration,
    directory: nodeDirectory,
    nodeNo,
    now,
    colocatedNodes,
    issuedNames: createIssuedNames({store, hasAuthority, nodes: nodeDirectory.list}),
    authorities,
  };
  const domains = createDomains({
    configuration,
    directory: domainDirectory,
    backendFaults: createBackendRules({nodes: nodeDirectory, nodeNo, networks: () => settings().backendNetworks}),
  });
  const keys = createKeys({
    store,
    configuration,
    directory: keyDirectory,
    domains: domainDirectory,
    nodeId,
    awaitReplication,
    now,
  });
  const actors = createPeerActors({store, keys: keyDirectory, domains: domainDirectory, now});
  const others = followPeers({peers, records, log});
  const {bus, events} = openEvents({nodeId, peers, records, metrics, log, now});
  membership.onRemoved(events.close);
  const auditLog = createAuditLog({store, nodeId});

  const {queue, intake, milterIntake, pool, sign, postfixPoll} = openHold({
    ...{store, spool, reserveFile, nodeId, fqdn, ca, records, settings, bus, metrics, log, now},
    postfixConfig: needs.postfixConfig,
  });

  const keyFailures = createKeyFailures({
    monotonic: () => performance.now(),
    onCount: count => log.warn(count, 'requests without a valid API key'),
  });

  return {
    keys,
    keyFailures,
    limits: createClusterRateLimits({limiter, sendHeartbeats}),
    announcement: createNodeAnnouncement({configuration, nodeNo}),
    joinTokens: createJoinTokens({...trust, actors, isOurs: token => isTokenFor(ca, token)}),
    joining: createJoining(trust),
    colocatedNodes,
    issuedNames: trust.issuedNames,
    removal: createRemoval({...trust, keys, awaitReplication}),
    domains,
    domainParts: createDomainParts({store, configuration, domains}),
    quarantine: createQuarantine({
      queues: () => [queue, ...others.queues()],
      ask: others.ask,
      isAway: others.isAway,
      onUnexpected: error => log.error({err: error}, 'quarantine action failed'),
    }),
    cluster: createCluster({
      store,
      directory: nodeDirectory,
      peerStates,
      refusals,
      nodeId,
      nodeNo,
      hostname: fqdn,
      apiUrl: () => nodeDirectory.findByNo(nodeNo)?.api_url ?? needs.apiUrl,
      license: () => settings().license,
      cutOffSince: needs.cutOff.since,
      now,
    }),
    audit: createAudit({logs: () => [auditLog, ...others.auditLogs()], ask: others.ask}),
    events,
    forPeers: {
      queue,
      auditLog,
      actors,
      bus,
    },
    retention: createRetention({
      store,
      keepMs: () => settings().keepMs,
      expire: queue.expire,
      isSuspended: membership.isRemoved,
      now,
    }),
    intake,
    milterIntake,
    postfixPoll,
    pool,
    sign,
    flushKeyUses: keyDirectory.flush,
    async close() {
      keyFailures.report(true);
      await Promise.race([queue.idle().then(pool.close), delay(lastCallMs)]);
      await keyDirectory.flush();
      await peerStates.flush();
    },
  };
};

const ownAddresses = (): string[] => Object.values(networkInterfaces()).flatMap(all => (all ?? []).map(({address}) => address));
