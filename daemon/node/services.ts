// Services and hold queue of one node, wired to each other.

import {networkInterfaces} from 'node:os';
import {setTimeout as delay} from 'node:timers/promises';
import {isTokenFor} from '../cluster/join-token.ts';
import {connectOnly, examineServer} from '../mail/backend/examine-server.ts';
import {createDnsCheck} from '../mail/dns-check/check-records.ts';
import type {Lookup} from '../mail/lookup.ts';
import type {Readers} from '../mail/readers/readers.ts';
import {clusterKeyword} from '../mail/smtp-reply.ts';
import {createKeyFailures} from '../services/access/key-failures.ts';
import {createKeys} from '../services/access/keys.ts';
import {createClusterRateLimits} from '../services/access/rate-limit.ts';
import {type Audit, createAudit, createAuditLog, createCommonAudit} from '../services/audit/audit.ts';
import {remoteAuditLog} from '../services/audit/audit-questions.ts';
import {createIssuedNames} from '../services/cluster/certificate-names.ts';
import {createClusterView} from '../services/cluster/cluster-view.ts';
import {createJoinTokens} from '../services/cluster/join-tokens.ts';
import {createColocatedNodes, createJoining} from '../services/cluster/joining.ts';
import {createKnownKinds} from '../services/cluster/known-kinds.ts';
import {createNodeAnnouncement} from '../services/cluster/membership.ts';
import {createRemoval} from '../services/cluster/removal.ts';
import type {ReportedView} from '../services/dmarc/reported-view.ts';
import {dayOf} from '../services/dmarc/reporter.ts';
import {createDnsView, type DnsView} from '../services/dns/domain-dns.ts';
import {createDomainTests, type DomainTests} from '../services/dns/domain-test.ts';
import {createDomainParts, type DomainParts} from '../services/domains/domain-parts.ts';
import {createDomainRetentions} from '../services/domains/domain-retention.ts';
import {createBackendRules, createDomains, type Domains} from '../services/domains/domains.ts';
import {createGlobalFilters, createMailFilters} from '../services/domains/mail-filters.ts';
import {createRetentionRules} from '../services/domains/retention-rules.ts';
import type {MailClaim} from '../services/intake/intake.ts';
import {createPeerActors} from '../services/peers/peer-actors.ts';
import {createDomainDigests} from '../services/recipients/digest-settings.ts';
import {createKeySearches} from '../services/search-limits.ts';
import {remoteWebhookLog} from '../services/webhooks/webhook-questions.ts';
import type {WebhookTester} from '../services/webhooks/webhook-sender.ts';
import {createWebhookLog, createWebhooks, type WebhookLog, type Webhooks} from '../services/webhooks/webhooks.ts';
import type {Base} from './base.ts';
import type {Cluster} from './cluster.ts';
import {scannerFault} from './dependencies.ts';
import {openDmarc} from './dmarc.ts';
import {createDmarcState} from './dmarc-state.ts';
import {openEventLog, openMailSources, openTrace} from './event-log.ts';
import {apiUrl, listenOf} from './free-addresses.ts';
import {openHold} from './hold.ts';
import {followPeers, openEvents} from './peer-clients.ts';
import {openPostfixLog} from './postfix-log.ts';
import {openReaders} from './readers.ts';
import {openRecipients} from './recipients.ts';
import {openReportInbox} from './report-inbox.ts';
import {watchWebhooks} from './webhook-health.ts';
import {openWebhookSender} from './webhooks.ts';

/**
 * The listeners close first and have already waited. A delivery that takes longer is given up: its mail is held again at the next
 * start.
 */
const idleWaitMs = 500;

export type Services = ReturnType<typeof createServices>;

export const createServices = (base: Base, cluster: Cluster, version: string) => {
  const {config, fqdn, records} = base;
  const {store, nodeId} = base.storage;
  const {keyDirectory, peerStates, membership} = records;
  const {peers, links, limiter, presences} = cluster;
  // Used until this node has announced the real address of its API.
  const expectedUrl = apiUrl(config, fqdn, listenOf(config.api.listen));
  const owned = openDomains(base);
  const {actors, ...access} = createAccess(base, cluster);
  const others = followPeers(base, peers);
  const {source, sources} = openMailSources(base, others);
  const {bus, events} = openEvents(base, peers, sources);
  membership.onRemoved(events.close);
  const auditLog = createAuditLog({store, nodeId});
  const eventLog = openEventLog(base);
  const {trace, traceLog} = openTrace(base, others);
  const webhookSender = openWebhookSender(base, version);
  const {webhooks, webhookLog} = openWebhooks(base, others, webhookSender);
  const postfixLog = openPostfixLog(base, eventLog);

  const readers = openReaders();
  const inbox = openReportInbox(base, readers);
  const mail = openHold(base, bus, {inbox, readers});
  const dmarc = openDmarc(base, {sign: mail.sign, newLookup: mail.verifier.newLookup, version, others, inbox});
  const quarantine = mail.openQuarantine({...others, postfixNodes: () => presences?.postfixNodes() ?? []});
  const recipients = openRecipients(base, {...mail, ...owned, quarantine, peers});
  const dns = openDnsView(base, {...owned, ...mail.verifier, claim: mail.intake.claim, readers, dmarc: dmarc.view});
  return {
    ...access,
    limits: createClusterRateLimits({limiter, sendHeartbeats: links.sendHeartbeats}),
    ...owned,
    dns,
    domainTests: openDomainTests(base, {...owned, dns}),
    keySearches: createKeySearches(),
    cluster: openClusterView(base, cluster, expectedUrl),
    audit: openAudit(base, others, auditLog),
    ...{trace, webhooks, events, quarantine},
    forPeers: {auditLog, traceLog, webhookLog, source, actors, bus},
    ...mail,
    ...recipients,
    ...{dmarc, inbox, eventLog, webhookSender},
    jobs: [...mail.jobs, ...dmarc.jobs, ...recipients.jobs, ...eventLog.jobs, ...postfixLog.jobs, watchWebhooks(base)],
    flushKeyUses: keyDirectory.flush,
    /** Ends with what is under way. */
    stopSenders: async () => Promise.all([base.storage.engine.settled(webhookSender.stop()), recipients.stopDigests()]),
    async close() {
      const postfixLogEnds = postfixLog.close();
      access.keyFailures.report(true);
      await Promise.race([mail.idle().then(mail.pool.close), delay(idleWaitMs)]);
      await readers.close();
      await eventLog.close();
      await keyDirectory.flush();
      await peerStates.flush();
      await Promise.all([dmarc.close(), postfixLogEnds]);
    },
  };
};

const openClusterView = (base: Base, {config, presences, refusals}: Cluster, expectedUrl: string) => {
  const {settings, storage, fqdn, records, trust, dependencies, now} = base;
  const {nodeId, nodeNo} = storage;
  const {nodeDirectory, peerStates} = records;
  return createClusterView({
    config,
    ...(presences && {presences}),
    directory: nodeDirectory,
    peerStates,
    refusals,
    ...{nodeId, nodeNo, hostname: fqdn, now},
    apiUrl: () => nodeDirectory.findByNo(nodeNo)?.api_url ?? expectedUrl,
    license: () => settings().license,
    cutOffSince: trust.cutOff.since,
    hasAuthority: trust.hasAuthority,
    dmarc: createDmarcState(base),
    problems: dependencies.problems,
  });
};

const openDomains = ({settings, storage: {store, nodeId, nodeNo}, records}: Pick<Base, 'settings' | 'storage' | 'records'>) => {
  const {configuration, domainDirectory: directory, nodeDirectory: nodes, peerStates} = records;
  const retentionFaults = createRetentionRules({maxDays: () => settings().maxDays});
  const domains = createDomains({
    configuration,
    directory,
    backendFaults: createBackendRules({nodes, nodeNo, networks: () => settings().backendNetworks}),
    retentionFaults,
  });
  const filters = createMailFilters({store, configuration});
  return {
    domains,
    domainParts: createDomainParts({store, configuration, domains, filters}),
    retentions: createDomainRetentions({domains, nodeId, retentionMs: () => settings().keepMs, retentionFaults}),
    digests: createDomainDigests({
      ...{store, configuration, domains},
      requireKnown: createKnownKinds({directory: nodes, peerStates}),
      pagesUrl: () => settings().recipients.url,
    }),
    globalFilters: createGlobalFilters(filters),
  };
};

const openAudit = (
  {storage: {engine}}: Pick<Base, 'storage'>,
  {nodes, ask}: Pick<ReturnType<typeof followPeers>, 'nodes' | 'ask'>,
  own: ReturnType<typeof createAuditLog>,
): Audit =>
  engine.kind === 'own' ? createAudit({logs: () => [own, ...nodes().map(remoteAuditLog)], ask}) : createCommonAudit(own);

const openWebhooks = (
  {storage: {store, nodeId, engine}, records, settings, now}: Pick<Base, 'storage' | 'records' | 'settings' | 'now'>,
  {nodes, ask}: Pick<ReturnType<typeof followPeers>, 'nodes' | 'ask'>,
  tester: WebhookTester,
): {webhooks: Webhooks; webhookLog: WebhookLog} => {
  const {configuration, domainDirectory: domains, nodeDirectory: directory, peerStates} = records;
  const webhookLog = createWebhookLog({store, nodeId});
  const webhooks = createWebhooks({
    ...{store, configuration, domains, ask, now},
    requireKnown: createKnownKinds({directory, peerStates}),
    mayUseHttp: () => !settings().webhookNetworks.isEmpty,
    tester,
    logs: () => (engine.kind === 'own' ? [webhookLog, ...nodes().map(remoteWebhookLog)] : [webhookLog]),
  });
  return {webhooks, webhookLog};
};

/** Who may do what: API keys, and the nodes of the cluster. */
const createAccess = (
  {config, storage, records, trust, log, now}: Pick<Base, 'config' | 'storage' | 'records' | 'trust' | 'log' | 'now'>,
  {authorities, links: {awaitReplication}}: Cluster,
) => {
  const {store, nodeId, nodeNo} = storage;
  const {configuration, keyDirectory, domainDirectory: domains, nodeDirectory: directory, requireFresh} = records;
  const keys = createKeys({store, configuration, directory: keyDirectory, domains, nodeId, awaitReplication, requireFresh, now});
  const actors = createPeerActors({store, keys: keyDirectory, domains, requireFresh, now});
  const colocatedNodes = createColocatedNodes({nodeNo, ownAddresses});
  const issuedNames = createIssuedNames({store, hasAuthority: trust.hasAuthority, nodes: directory.list});
  const common = {configuration, authorities, directory, nodeNo, now};
  return {
    keys,
    actors,
    keyFailures: createKeyFailures({
      monotonic: () => performance.now(),
      onCount: count => log.warn(count, 'requests without a valid API key'),
    }),
    colocatedNodes,
    issuedNames,
    announcement: createNodeAnnouncement({configuration, nodeNo}),
    joinTokens: createJoinTokens({...common, actors, isOurs: token => isTokenFor(trust.ca, token)}),
    joining: createJoining({...common, store, issuedNames, colocatedNodes, storeUrl: config.store.url}),
    removal: createRemoval({...common, keys, awaitReplication, sharesStore: storage.engine.kind === 'common'}),
  };
};

const ownAddresses = (): string[] => Object.values(networkInterfaces()).flatMap(all => (all ?? []).map(({address}) => address));

interface DnsNeeds {
  domains: Domains;
  domainParts: DomainParts;
  claim: MailClaim;
  freshLookup(): Lookup;
  readers: Readers;
  dmarc: ReportedView;
}

const openDomainTests = (
  {settings, fqdn, trust, storage: {nodeId}}: Pick<Base, 'settings' | 'fqdn' | 'trust' | 'storage'>,
  {domains, dns}: {domains: Domains; dns: DnsView},
): DomainTests =>
  createDomainTests({
    ...{domains, dns, nodeId},
    examine: async (server, recipient) =>
      examineServer(server, {hostname: fqdn, ownKeyword: clusterKeyword(trust.ca), recipient}),
    connect: connectOnly,
    smarthost: () => settings().smarthost?.servers[0],
    scannerFault: async () => scannerFault(settings()),
    isMailRefusedUnscored: () => settings().onScorerFailure === 'tempfail',
  });

const reportedMs = 30 * 86_400_000;

const openDnsView = (
  {settings, records: {nodeDirectory}, now}: Pick<Base, 'settings' | 'records' | 'now'>,
  {domains, domainParts, claim, freshLookup, readers, dmarc}: DnsNeeds,
): DnsView =>
  createDnsView({
    domains,
    parts: domainParts,
    hosts: () => nodeDirectory.list().map(({fqdn}) => fqdn),
    receiveAt: () => settings().dmarc.receive_at,
    takesMailTo: address => claim({isTrusted: false}, '', address).kind === 'owned',
    hasCertificate: () => settings().hasOwnCertificate,
    check: createDnsCheck(freshLookup, readers.checkSender),
    async reported(actor, domain) {
      const {result} = await dmarc.sources(actor, {domain, since: dayOf(now() - reportedMs), isVerified: true});
      return result;
    },
  });
