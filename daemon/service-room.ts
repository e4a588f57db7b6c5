// The services and the hold queue of one node, wired to each other.
import {networkInterfaces} from 'node:os';
import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import {Fault} from '../shared/fault.ts';
import type {HostPort} from '../shared/host-port.ts';
import {followPeers, openEvents} from './across-room.ts';
import {isTokenFor} from './cluster/authority.ts';
import type {Peers} from './cluster/peers.ts';
import type {Ballast} from './hold/ballast.ts';
import type {Spool} from './hold/spool.ts';
import {createSpoolHoldQueue} from './hold/spool-hold-queue.ts';
import type {Metrics} from './http/metrics.ts';
import {createBackendPool} from './mail/backend-pool.ts';
import {createDeliver} from './mail/deliver.ts';
import {createDkimSigner} from './mail/dkim.ts';
import {traceHeader} from './mail/trace-header.ts';
import type {Records} from './records-room.ts';
import {createAudit, createAuditLog} from './services/audit.ts';
import {type Authority, createAuthorities} from './services/authority.ts';
import {createCluster} from './services/cluster.ts';
import {createDomainParts} from './services/domain-parts.ts';
import {createDomains} from './services/domains.ts';
import {createDrift} from './services/drift.ts';
import {createIntake} from './services/intake.ts';
import {createJoinTokens} from './services/join-tokens.ts';
import {createJoining} from './services/joining.ts';
import {createKeys} from './services/keys.ts';
import {createMembership} from './services/membership.ts';
import {createNeighbours} from './services/neighbours.ts';
import {createPeerActors} from './services/peer-actors.ts';
import {createPeerTalk} from './services/peer-talk.ts';
import type {Deliver, Keep, Spread} from './services/ports.ts';
import {createQuarantine} from './services/quarantine.ts';
import {createRateLimiter} from './services/rate-limit.ts';
import {createRemoval} from './services/removal.ts';
import {createReplication} from './services/replication.ts';
import {createRetention} from './services/retention.ts';
import type {LiveSettings} from './settings.ts';
import type {Database} from './store/database.ts';

export interface NodeParts {
  nodeId: string;
  nodeNo: number;
  fqdn: string;
  database: Database;
  spool: Spool;
  ballast: Ballast;
  log: Logger;
  metrics: Metrics;
  now: () => number;
  settings(): LiveSettings;
  records: Records;
  peers: Peers;
  version: string;
  /** Whether this node can issue certificates. */
  hasAuthority: boolean;
  /** How long configurations may differ with nothing under way before they are compared. */
  driftAfterMs: number;
  authority(): Promise<Authority | undefined>;
  /** Certificate of the cluster's authority, PEM. */
  ca: string;
}

/**
 * The doors, which close before, have given their grace already. A delivery that hangs longer is given up: at the next start
 * its mail is held again.
 */
const lastCallMs = 500;

export type Services = ReturnType<typeof createServices>;

export const createServices = (node: NodeParts & {apiUrl(): string; smtpAddress(): HostPort; spread: Spread}) => {
  const {database, nodeId, nodeNo, fqdn, now, log, metrics, ballast, settings, records, spread} = node;
  const {configuration, keyDirectory, domainDirectory, standing} = records;
  const {withRoom} = ballast;
  const limiter = createRateLimiter(now);
  const replication = createReplication({
    database,
    configuration,
    nodeNo,
    begunAt: records.begunAt,
    lastSeqOf: no => records.peerStates.latest(no)?.last_seq,
  });
  const drift = createDrift({
    database,
    configuration,
    replication,
    directory: records.nodeDirectory,
    peerStates: records.peerStates,
    nodeId,
    afterMs: () => node.driftAfterMs,
    now,
    monotonic: () => performance.now(),
    onRepair: repair => log.warn(repair, 'configurations had come apart; what the other node has was taken over'),
  });
  const neighbours = createNeighbours({nodeNo, ownAddresses});
  const trust = {configuration, directory: records.nodeDirectory, nodeNo, now, neighbours, authorities: authoritiesOf(node)};
  const domains = createDomains({configuration, directory: domainDirectory});
  const actors = createPeerActors({database, keys: keyDirectory, domains: domainDirectory, now});
  const others = followPeers(node);
  const {bus, events} = openEvents(node);
  standing.onRemoved(events.close);
  const auditLog = createAuditLog({database, nodeId});

  const signer = createDkimSigner();
  const sign: NonNullable<Parameters<typeof createDeliver>[0]['sign']> = async ({id, name}, content) => {
    const keys = domainDirectory.dkimKeysOf(id).map(key => ({...key, domain: name}));
    if (keys.length === 0) log.warn({domain: name}, 'mail leaves unsigned: dkim_active is set, but there is no DKIM key');
    return signer.sign(content, keys);
  };
  const pool = createBackendPool({
    hostname: fqdn,
    ownAddress: node.smtpAddress,
    onFailure: (server, detail) => log.warn({server, detail}, 'backend could not be used'),
  });
  const deliver = counted(createDeliver({pool, sign}), metrics);

  const queue = createSpoolHoldQueue({
    nodeId,
    database,
    spool: node.spool,
    deliver,
    withRoom,
    onHeld: (mail, domainId) => bus.publish({type: 'held', ...mail}, domainId),
    onActed: (outcome, domainId) => bus.publish({type: outcome.state, ...outcome}, domainId),
    onLeftover: (queueId, error) =>
      log.error({queue_id: queueId, err: error}, 'a file of the spool could not be removed; the next start tries again'),
    now,
    traceHeader: mail => traceHeader(mail, fqdn),
    routeOf({domain_id, domain: name, direction}) {
      const domain = domainDirectory.findById(domain_id) ?? domainDirectory.findByName(name);
      // Outbound mail outlives its domain too; what it was to be signed with does not.
      const route = domain ? intake.routeOf({direction, domain}) : direction === 'outbound' ? settings().smarthost : undefined;
      if (route) return route;
      const detail =
        direction === 'outbound'
          ? 'there is no smtp.smarthost to deliver to; configure one, or discard the mail'
          : `the domain ${name} has no backend any more; create it again, or discard the mail`;
      throw new Fault('delivery_failed', detail);
    },
  });
  const keep: Keep = queue;
  const intake = createIntake({
    domains: domainDirectory,
    scorer: {score: async mail => settings().scorer.score(mail)},
    keep,
    smarthost: () => settings().smarthost,
    hasRoom: ballast.hasRoom,
    isRemoved: standing.isRemoved,
    onScorerFailure: () => settings().onScorerFailure,
    onUnscored: error => log.error({err: error}, 'mail could not be scored'),
  });

  return {
    keys: createKeys({database, configuration, directory: keyDirectory, domains: domainDirectory, nodeId, spread, now}),
    limiter,
    replication,
    drift,
    membership: createMembership({configuration, nodeNo}),
    joinTokens: createJoinTokens({...trust, actors, isOurs: token => isTokenFor(node.ca, token)}),
    joining: createJoining(trust),
    neighbours,
    removal: createRemoval({...trust, spread}),
    askForCertificates: trust.authorities.askForCertificates,
    talk: createPeerTalk({
      database,
      replication,
      peerStates: records.peerStates,
      limiter,
      keyDirectory,
      drift,
      nodeId,
      nodeNo,
      version: node.version,
      license: () => settings().license,
      hasAuthority: node.hasAuthority,
      now,
    }),
    domains,
    domainParts: createDomainParts({database, configuration, domains}),
    quarantine: createQuarantine({
      queues: () => [queue, ...others.queues()],
      ask: others.ask,
      isAway: others.isAway,
      onUnexpected: error => log.error({err: error}, 'quarantine action failed'),
    }),
    cluster: createCluster({
      database,
      directory: records.nodeDirectory,
      peerStates: records.peerStates,
      nodeId,
      nodeNo,
      hostname: fqdn,
      apiUrl: node.apiUrl,
      license: () => settings().license,
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
      database,
      keepMs: () => settings().keepMs,
      expire: queue.expire,
      isSuspended: standing.isRemoved,
      now,
    }),
    intake,
    pool,
    sign,
    flushKeyUses: keyDirectory.flush,
    async close() {
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
  });

const ownAddresses = (): string[] => Object.values(networkInterfaces()).flatMap(all => (all ?? []).map(({address}) => address));

const counted = (deliver: Deliver, metrics: Metrics): Deliver => ({
  async deliver(route, envelope, content) {
    const results = await deliver.deliver(route, envelope, content);
    for (const {outcome} of results) metrics.delivery('release', outcome);
    return results;
  },
});
