// Metrics listener: metrics and health for monitoring, over plain HTTP.

import type {Logger} from 'pino';
import type {Config} from '../config/schema.ts';
import type {Metrics} from '../http/metrics.ts';
import {createMetricsApp} from '../http/metrics-app.ts';
import {listenOf} from './addresses.ts';
import type {CutOff} from './cut-off.ts';
import {type Listener, listenHttp} from './listen.ts';
import type {Records} from './records.ts';
import type {Services} from './services.ts';
import type {Storage} from './storage.ts';

interface Needs extends Pick<Storage, 'store' | 'reserveFile'> {
  config: Config;
  records: Records;
  services: Pick<Services, 'cluster'>;
  metrics: Metrics;
  cutOff: CutOff;
  log: Logger;
  /** PEM, by listener. */
  certificates(): Record<string, string>;
  phase(): 'starting' | 'open' | 'stopping';
}

export const openMetricsListener = async (needs: Needs): Promise<Listener> => {
  const {config, services, store, reserveFile, records, metrics, cutOff, log} = needs;
  const app = createMetricsApp({
    metrics,
    log,
    source: {
      clusterStatus: services.cluster.status,
      held: async () => store.hold.counts(),
      outboxDepth: async () => store.outbox.depth(),
      clockSkews: records.peerStates.skews,
      hasSpace: reserveFile.hasSpace,
      certificates: needs.certificates,
    },
    unready: async () => [
      ...(needs.phase() === 'open' ? [] : [`the node is ${needs.phase()}`]),
      ...[records.membership.advice()].filter(advice => advice !== undefined),
      ...[store.damage()].filter(text => text !== undefined).map(text => `the database is damaged: ${text}`),
      ...(reserveFile.hasSpace() ? [] : ['the disk is nearly full: new mail is answered 452']),
    ],
    // Mail does not depend on the other nodes, so their state is only a remark.
    remarks: () => [cutOff.advice()].filter(advice => advice !== undefined),
  });
  return listenHttp(listenOf(config.metrics.listen), app.callback());
};
