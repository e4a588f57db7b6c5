// The services and the hold queue of one node, wired to each other.
import {networkInterfaces} from 'node:os';
import {setTimeout as delay} from 'node:timers/promises';
import {isTokenFor} from '../cluster/authority.ts';
import {createPatientLimits} from '../services/access/cluster-rate-limit.ts';
import {createKeyFailures} from '../services/access/key-failures.ts';
import {createKeys} from '../services/access/keys.ts';
import {createAudit, createAuditLog} from '../services/audit/audit.ts';
import {createAuthorities} from '../services/cluster/authority.ts';
import {createCluster} from '../services/cluster/cluster.ts';
import {createNeighbours} from '../services/cluster/colocated-nodes.ts';
import {createIssuedNames} from '../services/cluster/issued-names.ts';
import {createJoinTokens} from '../services/cluster/join-tokens.ts';
import {createJoining} from '../services/cluster/joining.ts';
import {createMembership} from '../services/cluster/node-announcement.ts';
import {createPeerActors} from '../services/cluster/peer-actors.ts';
import {createRemoval} from '../services/cluster/removal.ts';
import {createBackendRules} from '../services/domains/backend-rules.ts';
import {createDomainParts} from '../services/domains/domain-parts.ts';
import {createDomains} from '../services/domains/domains.ts';
import type {Spread} from '../services/ports.ts';
import {createQuarantine} from '../services/quarantine/quarantine.ts';
import {createRetention} from '../services/quarantine/retention.ts';
import {openHold} from './hold.ts';
import type {NodeParts} from './node-parts.ts';
import {followPeers, openEvents} from './peer-clients.ts';
import {openReplication} from './replication.ts';

/**
 * The doors, which close before, have given their grace already. A delivery that hangs longer is given up: at the next start
 * its mail is held again.
 */
const lastCallMs = 500;

export type Services = ReturnType<typeof createServices>;

export const createServices = (node: NodeParts & {apiUrl(): string; spread: Spread; tellPeers(): Promise<void>}) => {
  const {store, nodeId, nodeNo, fqdn, now, log, settings, records, spread} = node;
  const {configuration, keyDirectory, domainDirectory, standing} = records;
  const {limiter, replication, drift, lateChanges, exchange, refusals} = openReplication(node);
  const neighbours = createNeighbours({nodeNo, ownAddresses});
  const trust = {
    store,
    configuration,
    directory: records.nodeDirectory,
    nodeNo,
    now,
    neighbours,
    issuedNames: createIssuedNames({store, hasAuthority: node.hasAuthority, nodes: records.nodeDirectory.list}),
    authorities: authoritiesOf(node),
  };
  const domains = createDomains({
    configuration,
    directory: domainDirectory,
    backendFaults: createBackendRules({nodes: records.nodeDirectory, nodeNo, networks: () => settings().backendNetworks}),
  });
  const keys = createKeys({store, configuration, directory: keyDirectory, domains: domainDirectory, nodeId, spread, now});
  const actors = createPeerActors({store, keys: keyDirectory, domains: domainDirectory, now});
  const others = followPeers(node);
  const {bus, events} = openEvents(node);
  standing.onRemoved(events.close);
  const auditLog = createAuditLog({store, nodeId});

  const {queue, intake, milterIntake, pool, sign, postfixLook} = openHold({...node, bus});

  const keyFailures = createKeyFailures({
    monotonic: () => performance.now(),
    onCount: count => log.warn(count, 'requests without a valid API key'),
  });

  return {
    keys,
    keyFailures,
    limiter,
    limits: createPatientLimits({limiter, tellPeers: node.tellPeers}),
    replication,
    refusals,
    drift,
    lateChanges,
    membership: createMembership({configuration, nodeNo}),
    joinTokens: createJoinTokens({...trust, actors, isOurs: token => isTokenFor(node.ca, token)}),
    joining: createJoining(trust),
    neighbours,
    issuedNames: trust.issuedNames,
    removal: createRemoval({...trust, keys, spread}),
    askForCertificates: trust.authorities.askForCertificates,
    exchange,
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
      directory: records.nodeDirectory,
      peerStates: records.peerStates,
      refusals,
      nodeId,
      nodeNo,
      hostname: fqdn,
      apiUrl: node.apiUrl,
      license: () => settings().license,
      cutOffSince: node.cutOff.since,
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
      isSuspended: standing.isRemoved,
      now,
    }),
    intake,
    milterIntake,
    postfixLook,
    pool,
    sign,
    flushKeyUses: keyDirectory.flush,
    async close() {
      keyFailures.report(true);
      await Promise.race([queue.idle().then(pool.close), delay(lastCallMs)]);
      await keyDirectory.flush();
      await records.peerStates.flush();
    },
  };
};

const authoritiesOf = ({authority, records, peers, nodeNo}: NodeParts) =>
  createAuthorities({
    own: authority,
    directory: records.nodeDirectory,
    peerStates: records.peerStates,
    peers: peers.list,
    nodeNo,
    onRemoved: records.standing.removedBy,
  });

const ownAddresses = (): string[] => Object.values(networkInterfaces()).flatMap(all => (all ?? []).map(({address}) => address));
