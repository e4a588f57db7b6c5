import {X509Certificate} from 'node:crypto';
import {Counter, collectDefaultMetrics, Gauge, Histogram, Registry} from 'prom-client';
import {type ClusterStatus, dependencyParts, type Problem} from '../../shared/cluster-status.ts';
import {healthStates} from '../../shared/health.ts';
import {type Reason, reasons} from '../../shared/reason.ts';
import {unfailing} from '../services/unfailing.ts';
import {createMailMetrics, type MailMetrics} from './mail-metrics.ts';

interface HeldTotal {
  reason: Reason;
  count: number;
  size_bytes: number;
}

export interface MetricsSource {
  clusterStatus(): Promise<ClusterStatus>;
  /** Undefined while the store does not say. */
  held(): Promise<HeldTotal[] | undefined>;
  outboxDepth(): Promise<number>;
  /** Seconds by which the clocks of other nodes are ahead, by node id. */
  clockSkews(): Record<string, number>;
  hasSpace(): boolean;
  /** PEM by listener; the first certificate of a chain counts. */
  certificates(): Record<string, string>;
}

export interface Metrics extends MailMetrics {
  /** The exposition text; reads values that are not counted as they happen from `source`. */
  expose(source: MetricsSource): Promise<{contentType: string; text: string}>;
  httpRequest(request: {method: string; route: string; status: number; seconds: number}): void;
  /** Counts a change of the health of another node. */
  healthChanged(): void;
  /** Counts requests for a deprecated operation, named as in the description. */
  deprecatedRequest(operationId: string, count?: number): void;
}

/** Default metrics with a name or a type that `promtool check metrics` rejects. */
const unclean = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

/** The default of 10 ms wakes a quiet node a hundred times a second, which is a third of what it uses. The lag includes it. */
const eventLoopResolutionMs = 50;

/** Only `expose` can fail: `onFailure` gets the error of what could not be counted. */
export const createMetrics = (version: string, onFailure: (error: unknown) => void = () => {}): Metrics => {
  const registry = new Registry();
  collectDefaultMetrics({eventLoopMonitoringPrecision: eventLoopResolutionMs, register: registry});
  for (const name of unclean) registry.removeSingleMetric(name);
  const registers = [registry];

  new Gauge({name: 'mfd_build_info', help: 'Version of this node, always 1', labelNames: ['version'], registers}).set(
    {version},
    1,
  );
  const requests = createRequestMetrics(registers);
  const mails = createMailMetrics(registers);
  const transitions = new Counter({
    name: 'mfd_cluster_health_transitions_total',
    help: 'Changes of a node’s health seen here',
    registers,
  });
  const source = createSourceGauges(registers);

  return {
    async expose(from) {
      await source.update(from);
      return {contentType: registry.contentType, text: await registry.metrics()};
    },
    ...withoutFailures({...requests, ...mails, healthChanged: () => transitions.inc()}, onFailure),
  };
};

const withoutFailures = (counts: Omit<Metrics, 'expose'>, onFailure: (error: unknown) => void): Omit<Metrics, 'expose'> =>
  Object.fromEntries(
    Object.entries(counts).map(([name, count]: [string, (...args: never[]) => void]) => [name, unfailing(count, onFailure)]),
  ) as unknown as Omit<Metrics, 'expose'>;

const createRequestMetrics = (registers: Registry[]): Pick<Metrics, 'httpRequest' | 'deprecatedRequest'> => {
  const requests = new Histogram({
    name: 'mfd_http_request_duration_seconds',
    help: 'Time from request to the end of the answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  });
  const deprecated = new Counter({
    name: 'mfd_api_deprecated_requests_total',
    help: 'Requests that used something deprecated, by operation of the API and what of it',
    labelNames: ['operation', 'part'],
    registers,
  });

  return {
    httpRequest: ({seconds, ...labels}) => requests.observe(labels, seconds),
    deprecatedRequest: (operation, count = 1) => deprecated.inc({operation, part: 'operation'}, count),
  };
};

/** Gauges that are read at each scrape: everything in /cluster/status, and the state of the hold queue. */
const createSourceGauges = (registers: Registry[]) => {
  const gauge = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Gauge<L>({name, help, labelNames, registers});
  const health = gauge('mfd_cluster_node_health', 'Health of a node, 1 for the state it is in', ['node', 'health']);
  const lastSeen = gauge('mfd_cluster_node_last_seen_timestamp_seconds', 'When this node last heard from a node', ['node']);
  const hashAge = gauge('mfd_cluster_node_config_hash_age_seconds', 'Age of a node’s configuration hash', ['node']);
  const backlog = gauge('mfd_cluster_node_outbox_backlog', 'Replication events of a node still to be applied here', ['node']);
  const refused = gauge('mfd_cluster_outbox_refused', 'Whether a node refuses changes from this node', ['node']);
  const unanswered = gauge('mfd_cluster_node_unanswered_seconds', 'For how long a node has not answered, 0 while it does', [
    'node',
  ]);
  const licensed = gauge('mfd_cluster_node_license_valid', 'Whether a node’s licence is valid', ['node']);
  const licenseEnd = gauge('mfd_cluster_node_license_expiry_timestamp_seconds', 'When a node’s licence ends', ['node']);
  const skew = gauge('mfd_cluster_clock_skew_seconds', 'Seconds by which the clock of another node is ahead', ['node']);
  const nodes = gauge('mfd_cluster_nodes', 'Nodes by health', ['health']);
  const drift = gauge('mfd_cluster_config_drift', '1 while configuration hashes differ between this node and one that it hears');
  const updateDependencies = createDependencyGauges(registers);
  const heldMails = gauge('mfd_held_mails', 'Mails in the hold queue of this node', ['reason']);
  const heldBytes = gauge('mfd_held_bytes', 'Bytes in the hold queue of this node', ['reason']);
  const outbox = gauge('mfd_outbox_events', 'Replication events this node keeps for its peers');
  const hasSpace = gauge('mfd_spool_has_room', '0 while mail is refused because of too little disk space');
  const certificateEnd = gauge('mfd_certificate_expiry_timestamp_seconds', 'When the certificate of a listener expires', [
    'listener',
  ]);

  const updateCluster = ({peers, local_node_id, generated_at}: ClusterStatus) => {
    for (const each of [health, lastSeen, hashAge, backlog, refused, unanswered, licensed, licenseEnd]) each.reset();
    for (const peer of peers) {
      const node = peer.node_id;
      for (const state of healthStates) health.set({node, health: state}, Number(peer.healthy === state));
      lastSeen.set({node}, Date.parse(peer.last_seen) / 1000);
      hashAge.set({node}, peer.config_hash_age_s);
      backlog.set({node}, peer.outbox_backlog_to_us);
      refused.set({node}, Number(peer.outbox_refused));
      const silenceMs = peer.unanswered_since === null ? 0 : Date.parse(generated_at) - Date.parse(peer.unanswered_since);
      unanswered.set({node}, Math.max(0, silenceMs / 1000));
      licensed.set({node}, Number(peer.license.valid));
      licenseEnd.set({node}, Date.parse(peer.license.expires_at) / 1000);
    }
    for (const state of healthStates) nodes.set({health: state}, peers.filter(({healthy}) => healthy === state).length);
    drift.set(Number(peers.some(({config_differs_since}) => config_differs_since !== null)));
    updateDependencies(peers.find(({node_id}) => node_id === local_node_id)?.problems ?? []);
  };

  return {
    async update(source: MetricsSource) {
      updateCluster(await source.clusterStatus());
      const held = await source.held();
      for (const each of [heldMails, heldBytes]) each.reset();
      for (const reason of held ? reasons : []) {
        const of = (held ?? []).filter(total => total.reason === reason);
        heldMails.set(
          {reason},
          of.reduce((sum, {count}) => sum + count, 0),
        );
        heldBytes.set(
          {reason},
          of.reduce((sum, {size_bytes}) => sum + size_bytes, 0),
        );
      }
      skew.reset();
      for (const [node, seconds] of Object.entries(source.clockSkews())) skew.set({node}, seconds);
      outbox.set(await source.outboxDepth());
      hasSpace.set(Number(source.hasSpace()));
      for (const [listener, pem] of Object.entries(source.certificates()))
        certificateEnd.set({listener}, Date.parse(new X509Certificate(pem).validTo) / 1000);
    },
  };
};

const createDependencyGauges = (registers: Registry[]): ((own: readonly Problem[]) => void) => {
  const problems = new Gauge({
    name: 'mfd_dependency_problems',
    help: 'How many things of a kind that this node depends on do not work',
    labelNames: ['part'],
    registers,
  });
  const refuses = new Gauge({
    name: 'mfd_dependency_refuses_mail',
    help: '1 while mail is answered 451 because the store or the scanner does not work',
    registers,
  });
  return own => {
    for (const part of dependencyParts) problems.set({part}, own.filter(one => one.part === part).length);
    refuses.set(Number(own.some(({refuses_mail}) => refuses_mail)));
  };
};
