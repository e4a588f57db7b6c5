// Sources of the cluster screen.
import {setTimeout as pause} from 'node:timers/promises';
import type {ClusterDrift} from '../../../../shared/cluster-drift.ts';
import type {ClusterStatus} from '../../../../shared/cluster-status.ts';
import {checkedMetricsUrl, fetchMetrics} from '../../../client/metrics.ts';
import {inspectServer} from '../../../client/server-certificate.ts';
import {asCliError} from '../../../errors.ts';
import type {AppContext} from '../../shell/app-context.ts';
import {noSource, type Source} from '../../shell/source.ts';
import {type Arrivals, createArrivals, type NodeMetrics, parseMetrics} from './figures.ts';
import {createHistory, type History} from './history.ts';

export const statusSource = (app: AppContext): Source<ClusterStatus> =>
  app.may('cluster:read')
    ? app.source('cluster.status', {
        load: async () => (await app.client.cluster.status()).data,
        refreshOn: ['health', 'domain', 'key'],
        // No event reports when a node was last seen, or its backlog.
        whileLiveMs: 10_000,
      })
    : noSource;

/** The node reads all records of all others for it, in pages of which each may take half a minute. */
export const readDrift = async ({client}: AppContext): Promise<ClusterDrift> =>
  (await client.cluster.drift({silenceMs: 60_000})).data;

export const driftSource = (app: AppContext): Source<ClusterDrift> =>
  app.may('cluster:read')
    ? app.source('cluster.drift', {
        load: () => readDrift(app),
        refreshOn: ['domain', 'key'],
        everyMs: 10_000,
        whileLiveMs: 10_000,
      })
    : noSource;

export const arrivalsSource = (app: AppContext): Source<Arrivals> =>
  app.may('quarantine:read')
    ? app.source('cluster.arrivals', {load: createArrivals({...app, pause}), refreshOn: [], everyMs: 60_000})
    : noSource;

export interface MetricsReading {
  metrics: NodeMetrics | undefined;
  /** Why there are none. */
  problem: string | undefined;
}

/** Never fails: where there are no metrics, events are counted. */
export const metricsSource = (app: AppContext): Source<MetricsReading> =>
  app.source('cluster.metrics', {
    isElsewhere: true,
    refreshOn: [],
    everyMs: 15_000,
    whileLiveMs: 15_000,
    load: async () => {
      try {
        const url = await metricsUrlOf(app);
        if (url === undefined) return {metrics: undefined, problem: 'the context names no metrics listener'};
        const text = await fetchMetrics(checkedMetricsUrl(url), {ca: app.connection.ca, withinMs: 3000});
        return {metrics: parseMetrics(text), problem: undefined};
      } catch (error) {
        return {metrics: undefined, problem: asCliError(error).detail};
      }
    },
  });

const metricsUrlOf = async ({terminal, contexts, name}: AppContext): Promise<string | undefined> => {
  if (terminal.env.MFCTL_METRICS_URL) return terminal.env.MFCTL_METRICS_URL;
  return (await contexts.read()).contexts.find(context => context.name === name)?.metricsUrl;
};

type CertificateEnds = ReadonlyMap<string, CertificateEnd>;

const certificateEveryMs = 10 * 60_000;

/** By node. Each is read once in ten minutes, whether that worked or not. */
export const certificatesSource = (app: AppContext): Source<CertificateEnds> => {
  const status = statusSource(app);
  const known = app.kept('cluster.certificates', () => new Map<string, {url: string; readAtMs: number; end: CertificateEnd}>());
  return app.source('cluster.certificates', {
    isElsewhere: true,
    refreshOn: [],
    everyMs: 60_000,
    whileLiveMs: 60_000,
    load: async () => {
      const peers = status.get().value?.peers ?? [];
      const isDue = ({node_id, api_url}: {node_id: string; api_url: string}): boolean => {
        const before = known.get(node_id);
        return before === undefined || before.url !== api_url || app.now() - before.readAtMs >= certificateEveryMs;
      };
      await Promise.all(
        peers.filter(isDue).map(async ({node_id, api_url}) => {
          const readAtMs = app.now();
          const end = await readCertificateEnd(api_url, app.connection.ca);
          known.set(node_id, {url: api_url, readAtMs, end});
        }),
      );
      return new Map([...known].map(([node, {end}]) => [node, end]));
    },
  });
};

export const historyOf = (app: AppContext): History => app.kept('cluster.history', () => createHistory(app.now));

export interface CertificateEnd {
  /** Undefined when it could not be read. */
  endsAtMs: number | undefined;
  /** Why it could not be read, or is not trusted. */
  problem: string | undefined;
}

const deadlineMs = 4000;

/** Never rejects. `ca` is PEM; undefined trusts what Node trusts. */
export const readCertificateEnd = async (apiUrl: string, ca: string | undefined): Promise<CertificateEnd> => {
  const url = URL.canParse(apiUrl) ? new URL(apiUrl) : undefined;
  if (url?.protocol !== 'https:') return unread('its address is not an https address');
  try {
    const {leaf, distrust} = await inspectServer(url, ca, deadlineMs);
    // The end of an expired certificate says why it is not trusted.
    return {endsAtMs: Date.parse(leaf.validTo), problem: distrust === 'CERT_HAS_EXPIRED' ? undefined : distrust};
  } catch (error) {
    const {cause, detail} = asCliError(error);
    const {code = detail} = (cause ?? {}) as NodeJS.ErrnoException;
    return unread(code === 'ETIMEDOUT' ? 'no answer in time' : code);
  }
};

const unread = (problem: string): CertificateEnd => ({endsAtMs: undefined, problem});

/** A status that was read `ageMs` ago, with its ages increased by that. */
export const agedStatus = (status: ClusterStatus, ageMs: number): ClusterStatus => {
  const seconds = Math.floor(ageMs / 1000);
  const generatedAt = new Date(Date.parse(status.generated_at) + seconds * 1000);
  if (seconds <= 0 || Number.isNaN(generatedAt.getTime())) return status;
  return {
    ...status,
    generated_at: generatedAt.toISOString(),
    peers: status.peers.map(peer => ({...peer, config_hash_age_s: peer.config_hash_age_s + seconds})),
  };
};
