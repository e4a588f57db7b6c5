// Listeners for other nodes, for those that are about to join, and for metrics.
import {joinTokenIdIn} from '../cluster/join-token.ts';
import {hostsIn, identityIn} from '../cluster/peer-identity.ts';
import {createMetricsApp} from '../http/metrics-app.ts';
import {createPeerApi} from '../http/peer/peer-app.ts';
import {routeGivenCounts, routePeerAdmission, routePeerEvents, routePeerTrust} from '../http/peer/routes-peer-cluster.ts';
import {routePeerDigests, routeRecipientLinks} from '../http/peer/routes-peer-digests.ts';
import {routeMailBodies, routeQuestions} from '../http/peer/routes-questions.ts';
import type {NodeIdentity} from '../services/actor.ts';
import {auditQuestions} from '../services/audit/audit-questions.ts';
import {validityOf} from '../services/cluster/certificate-names.ts';
import {dmarcQuestions, reportedQuestion} from '../services/dmarc/dmarc-questions.ts';
import {mailSourceQuestions} from '../services/events/mail-source-questions.ts';
import {traceQuestions} from '../services/events/trace-questions.ts';
import {holdListQuestions, holdQuestions} from '../services/quarantine/hold-questions.ts';
import {webhookQuestions} from '../services/webhooks/webhook-questions.ts';
import type {Base} from './base.ts';
import type {Cluster} from './cluster.ts';
import {publicRemarks} from './dependencies.ts';
import {listenOf} from './free-addresses.ts';
import {type Listener, listenHttp, listenMutualTls} from './listen.ts';
import type {Services} from './services.ts';
import {publicStoreFault} from './storage.ts';

export const openPeerListener = async (
  base: Pick<Base, 'config' | 'records' | 'trust' | 'log'>,
  cluster: Pick<Cluster, 'routes'>,
  services: Services,
) => {
  const {config, trust, log} = base;
  const {nodeDirectory} = base.records;
  const isMember = ({nodeId, nodeNo}: NodeIdentity) => nodeDirectory.findByNo(nodeNo)?.node_id === nodeId;
  const noteNames = (no: number, hosts: string[]) =>
    void services.issuedNames
      .shown(no, hosts)
      .catch(error => log.error({err: error}, 'the names in a certificate could not be stored'));
  const wasRemoved = ({nodeNo: no}: NodeIdentity) => nodeDirectory.wasRemoved(no);
  const api = createPeerApi({
    identityIn,
    isMember,
    wasRemoved,
    noteAddress: ({nodeNo}, remoteAddress) => services.colocatedNodes.noteAddress(nodeNo, remoteAddress),
    routes: [
      ...cluster.routes,
      routePeerTrust({...services, hostsIn}),
      routePeerEvents(services.forPeers),
      ...questionRoutes(services),
    ],
    openRoutes: [routePeerAdmission({...services, tokenIdIn: joinTokenIdIn})],
    log,
  });
  const listener = await listenMutualTls(
    listenOf(config.cluster.listen),
    {
      ...trust.certificates.current().cluster,
      ca: trust.ca,
      // A client without a node identity may be joining.
      admits({subjectAltName, endMs}) {
        const validity = validityOf({endMs}, Date.now());
        const shown = identityIn(subjectAltName);
        if (!shown) return validity === 'valid';
        services.joining.seen(shown.nodeNo);
        if (!isMember(shown)) return false;
        // The names in an expired certificate may now belong to another node.
        if (validity === 'valid') noteNames(shown.nodeNo, hostsIn(subjectAltName));
        return validity !== 'outdated';
      },
      // Only members are admitted by name; the certificate of a join token has none.
      trusts: ({subjectAltName}) => identityIn(subjectAltName) !== undefined,
      mayGetReason({subjectAltName}) {
        const shown = identityIn(subjectAltName);
        return shown !== undefined && wasRemoved(shown);
      },
    },
    api.callback(),
  );
  nodeDirectory.onChange(listener.expel);
  return listener;
};

/** What the node is doing, for `/readyz`. */
export type Phase = 'starting' | 'open' | 'stopping';

export const openMetricsListener = async (
  base: Pick<Base, 'config' | 'storage' | 'records' | 'trust' | 'metrics' | 'dependencies' | 'log'>,
  services: Services,
  phase: () => Phase,
): Promise<Listener> => {
  const {config, records, trust, metrics, dependencies, log} = base;
  const {store, engine, reserveFile} = base.storage;
  const app = createMetricsApp({
    metrics,
    log,
    source: {
      clusterStatus: services.cluster.status,
      held: async () => (engine.isReachable() ? store.hold.counts() : undefined),
      outboxDepth: async () => (engine.kind === 'own' ? engine.store.outbox.depth() : 0),
      clockSkews: records.peerStates.skews,
      hasSpace: reserveFile.hasSpace,
      certificates() {
        const {api, cluster} = trust.certificates.current();
        return {api: api.cert, cluster: cluster.cert};
      },
    },
    unready: async () => [
      ...(phase() === 'open' ? [] : [`the node is ${phase()}`]),
      // The store is asked itself: it may have been lost since the last check.
      ...[records.membership.advice(), publicStoreFault(engine)].filter(fault => fault !== undefined),
      ...dependencies
        .problems()
        .filter(({part, refuses_mail}) => refuses_mail && part !== 'store')
        .map(({detail, since}) => `the scanner does not work since ${since}, and mail is answered 451: ${detail}`),
      ...(reserveFile.hasSpace() ? [] : ['the disk is nearly full: new mail is answered 452']),
    ],
    // Mail does not depend on the other nodes, so their state is only a remark.
    remarks: () => [...[trust.cutOff.advice()].filter(advice => advice !== undefined), ...publicRemarks(dependencies.problems())],
  });
  return listenHttp(listenOf(config.metrics.listen), app.callback());
};

/** What other nodes may ask of this one for their callers. */
const questionRoutes = ({
  queue,
  listed,
  dmarc,
  digestSource,
  linkOwner,
  forPeers: {auditLog, traceLog, webhookLog, source, actors},
}: Services) => [
  ...(listed ? [routeQuestions(actors, listed, holdListQuestions)] : []),
  routeQuestions(actors, queue, holdQuestions),
  routeMailBodies(actors, queue),
  routeQuestions(actors, auditLog, auditQuestions),
  routeQuestions(actors, traceLog, traceQuestions),
  routeQuestions(actors, webhookLog, webhookQuestions),
  routeQuestions(actors, source, mailSourceQuestions),
  routeQuestions(actors, dmarc.own, dmarcQuestions),
  routeQuestions(actors, dmarc.own, {reportedQuestion}),
  routeGivenCounts(dmarc),
  routePeerDigests(digestSource),
  routeRecipientLinks(linkOwner),
];
