// Services and hold queue of one node, wired to each other.

import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import type {Config} from '../config/schema.ts';
import type {Metrics} from '../http/metrics.ts';
import {createKeyFailures} from '../services/access/key-failures.ts';
import {createKeys} from '../services/access/keys.ts';
import {createClusterRateLimits} from '../services/access/rate-limit.ts';
import {createAudit, createAuditLog} from '../services/audit/audit.ts';
import {createCluster} from '../services/cluster/cluster.ts';
import {createPeerActors} from '../services/cluster/peer-actors.ts';
import {createDomainParts} from '../services/domains/domain-parts.ts';
import {createBackendRules, createDomains} from '../services/domains/domains.ts';
import type {AwaitReplication, Store} from '../services/ports.ts';
import {createQuarantine} from '../services/quarantine/quarantine.ts';
import {createRetention} from '../services/quarantine/retention.ts';
import type {Cluster} from './cluster.ts';
import {apiUrl, listenOf} from './free-addresses.ts';
import {openHold} from './hold.ts';
import type {LiveSettings} from './live-settings.ts';
import {followPeers, openEvents} from './peer-clients.ts';
import type {Records} from './records.ts';
import type {Storage} from './storage.ts';
import {createTrustServices, type Trust} from './trust.ts';

/**
 * The listeners close first and have already waited. A delivery that takes longer is given up: its mail is held again at the next
 * start.
 */
const idleWaitMs = 500;

export type Services = ReturnType<typeof createServices>;

interface Needs {
  config: Config;
  settings(): LiveSettings;
  storage: Storage;
  fqdn: string;
  records: Records;
  trust: Trust;
  cluster: Cluster;
  metrics: Metrics;
  log: Logger;
  now: () => number;
}

export const createServices = ({config, settings, storage, fqdn, records, trust, cluster, metrics, log, now}: Needs) => {
  const {store, nodeId, nodeNo} = storage;
  const {configuration, keyDirectory, domainDirectory, nodeDirectory, peerStates, membership} = records;
  const {peers, authorities, links, replicated} = cluster;
  const {awaitReplication, sendHeartbeats} = links;
  // Used until this node has announced the real address of its API.
  const expectedUrl = apiUrl(config, fqdn, listenOf(config.api.listen));
  const domains = createDomains({
    configuration,
    directory: domainDirectory,
    backendFaults: createBackendRules({nodes: nodeDirectory, nodeNo, networks: () => settings().backendNetworks}),
  });
  const {actors, ...access} = createAccess({store, nodeId, records, awaitReplication, log, now});
  const others = followPeers({peers, records, log});
  const {bus, events} = openEvents({nodeId, peers, records, metrics, log, now});
  membership.onRemoved(events.close);
  const auditLog = createAuditLog({store, nodeId});

  const mail = openHold({config, settings, storage, fqdn, ca: trust.ca, records, bus, metrics, log, now});
  const {queue} = mail;
  return {
    ...access,
    limits: createClusterRateLimits({limiter: replicated.limiter, sendHeartbeats}),
    ...createTrustServices({store, nodeNo, records, trust, authorities, keys: access.keys, actors, awaitReplication, now}),
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
      refusals: replicated.refusals,
      nodeId,
      nodeNo,
      hostname: fqdn,
      apiUrl: () => nodeDirectory.findByNo(nodeNo)?.api_url ?? expectedUrl,
      license: () => settings().license,
      cutOffSince: trust.cutOff.since,
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
      retentionMs: () => settings().keepMs,
      expire: queue.expire,
      isSuspended: membership.isRemoved,
      now,
    }),
    ...mail,
    flushKeyUses: keyDirectory.flush,
    async close() {
      access.keyFailures.report(true);
      await Promise.race([queue.idle().then(mail.pool.close), delay(idleWaitMs)]);
      await keyDirectory.flush();
      await peerStates.flush();
    },
  };
};

interface AccessNeeds extends Pick<Needs, 'records' | 'log' | 'now'> {
  store: Store;
  nodeId: string;
  awaitReplication: AwaitReplication;
}

const createAccess = ({store, nodeId, records, awaitReplication, log, now}: AccessNeeds) => {
  const {configuration, keyDirectory, domainDirectory: domains} = records;
  return {
    keys: createKeys({store, configuration, directory: keyDirectory, domains, nodeId, awaitReplication, now}),
    keyFailures: createKeyFailures({
      monotonic: () => performance.now(),
      onCount: count => log.warn(count, 'requests without a valid API key'),
    }),
    actors: createPeerActors({store, keys: keyDirectory, domains, now}),
  };
};
