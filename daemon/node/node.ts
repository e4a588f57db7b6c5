// Composition root: opens everything in order, passes each part what it needs, and closes in reverse.

import {hostname} from 'node:os';
import type {Logger} from 'pino';
import type {HostPort} from '../../shared/host-port.ts';
import type {LoadedConfig} from '../config/load.ts';
import {createMetrics} from '../http/metrics.ts';
import type {LocalAddress} from '../mail/local-listener.ts';
import type {Base} from './base.ts';
import {type Closers, createClosers} from './closers.ts';
import {openCommonRecords} from './common-records.ts';
import {dataFolder} from './data-folder.ts';
import {openDependencies} from './dependencies.ts';
import {requireFreeAddresses} from './free-addresses.ts';
import {type Job, startJobs} from './jobs.ts';
import {createRenewal, openListeners} from './listeners.ts';
import {openConfig} from './live-settings.ts';
import type {Phase} from './peer-listener.ts';
import {openReplicatedRecords} from './replicated-records.ts';
import {createServices, type Services} from './services.ts';
import {type OpenCommonStore, openStorage} from './storage.ts';
import {openTrust} from './trust.ts';

export interface RunningNode {
  nodeId: string;
  addresses: {
    api: HostPort;
    cluster: HostPort;
    metrics: HostPort;
    smtp: HostPort;
    milter: LocalAddress | undefined;
    socketmap: LocalAddress | undefined;
  };
  /**
   * Applies settings that can change while the node runs and logs the others. Throws and changes nothing if `loaded` is invalid.
   */
  reload(loaded: LoadedConfig): Promise<void>;
  /** Finishes work in progress, for at most 7 s. */
  stop(): Promise<void>;
}

interface Needs {
  data: string;
  loaded: LoadedConfig;
  log: Logger;
  version: string;
  openCommon?: OpenCommonStore;
}

export const startNode = async (needs: Needs): Promise<RunningNode> => {
  const closers = createClosers(error => needs.log.error({err: error}, 'closing failed'));
  try {
    return await open(needs, closers);
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
};

const open = async ({data, loaded, log, version, openCommon}: Needs, closers: Closers): Promise<RunningNode> => {
  const {now} = Date;
  const folder = dataFolder(data);
  let phase: Phase = 'starting';
  const running = openConfig(loaded);
  closers.add(running.close);
  const {config} = loaded;
  const metrics = createMetrics(version, error => log.error({err: error}, 'a metric could not be counted'));

  const storage = await openStorage({folder, config, log, now, closers, openCommon});
  await requireFreeAddresses(config, {file: folder.config});
  const {nodeId, nodeNo, engine} = storage;
  const {settings} = running;
  const recordsNeeds = {...storage, config, settings, log, now, closers};
  const {records, openCluster} =
    engine.kind === 'own'
      ? await openReplicatedRecords(engine.store, recordsNeeds)
      : await openCommonRecords(engine, recordsNeeds);
  const trust = await openTrust({folder, identity: {nodeId, nodeNo}, running, records, log, now});
  const fqdn = config.fqdn ?? hostname();
  const dependencies = openDependencies({settings, storage, log, now});
  const base: Base = {config, settings, fqdn, storage, records, trust, metrics, dependencies, log, now};
  const cluster = openCluster(base, version, closers);
  const services = createServices(base, cluster, version);
  closers.add(async () => {
    await engine.settled(services.close());
    services.eventLog.reportLost();
  });
  await services.takeBackOwnClaims();
  const listeners = await openListeners(base, {cluster, services, phase: () => phase, closers});
  const renew = createRenewal(base, {cluster, services, listeners});
  const renewOrLog = async (isForced: boolean) =>
    renew(isForced).catch(error => log.error({err: error}, 'certificate renewal failed'));
  const jobs = startJobs([...nodeJobs(base, {services, renew}), ...cluster.jobs], {engine, log});
  closers.add(async () => {
    // Jobs that wait for other nodes end when these connections close.
    const idle = Promise.all([jobs.stop(), services.postfixPoll?.stop()]);
    await cluster.links.stop();
    await engine.settled(idle);
  });
  // A scanner that is dead already is not to be found by the first mail.
  dependencies.check();
  phase = 'open';
  services.webhookSender.start();
  // Renewal that was due before the peers were connected.
  void renewOrLog(false);

  return {
    nodeId,
    addresses: {
      api: listeners.api.address,
      cluster: listeners.cluster.address,
      metrics: listeners.metrics.address,
      smtp: listeners.mail.smtp.address,
      milter: listeners.mail.milter.address,
      socketmap: listeners.mail.tables.address,
    },
    async reload(next) {
      const waiting = await running.replace(next);
      if (waiting.length > 0) log.warn({keys: waiting}, 'these keys take effect at the next start');
      log.level = next.config.log.level;
      await renewOrLog(true);
      log.info('configuration and certificates reread');
    },
    async stop() {
      phase = 'stopping';
      // These requests never end on their own.
      services.events.close();
      services.forPeers.bus.close();
      await Promise.all([listeners.stop(), services.stopSenders()]);
      await closers.closeAll();
    },
  };
};

/** The jobs of every node. */
const nodeJobs = (
  base: Pick<Base, 'config' | 'storage' | 'records' | 'metrics' | 'dependencies' | 'log'>,
  {services, renew}: {services: Services; renew(): Promise<void>},
): Job[] => {
  const {config, storage, records, metrics, dependencies, log} = base;
  const {postfixPoll} = services;
  return [
    {everyMs: 2_000, what: 'checking disk space', run: storage.reserveFile.refresh},
    {everyMs: 5_000, what: 'counting requests without a valid key', run: async () => services.keyFailures.report()},
    {everyMs: 20_000, what: 'storing key uses', run: services.flushKeyUses},
    {everyMs: 1_000, what: 'checking peer health', run: async () => records.peerStates.checkHealth()},
    {everyMs: 1_000, what: 'checking what nothing has used', run: async () => dependencies.check()},
    {everyMs: 10_000, what: 'storing peer reports', run: records.peerStates.flush},
    {
      everyMs: config.retention.sweep_interval * 1000,
      what: 'retention sweep',
      async run() {
        const expired = await services.retention.sweep();
        if (expired > 0) log.info({expired}, 'held mail removed by retention');
        metrics.expired(expired);
      },
    },
    ...(postfixPoll
      ? [{everyMs: config.postfix.reconcile_interval * 1000, what: 'looking at Postfix’s queue', run: postfixPoll.run}]
      : []),
    ...services.jobs,
    {everyMs: 60_000, what: 'certificate renewal', run: async () => renew()},
  ];
};
