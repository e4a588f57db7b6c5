// Composition root: opens everything in order, passes each part what it needs, and closes in reverse.
import {hostname} from 'node:os';
import type {Logger} from 'pino';
import type {HostPort} from '../../shared/host-port.ts';
import type {LoadedConfig} from '../config/load.ts';
import {createMetrics} from '../http/metrics.ts';
import type {LocalAddress} from '../mail/local-listener.ts';
import {type Closers, createClosers} from './closers.ts';
import {openCluster} from './cluster.ts';
import {dataFolder} from './data-folder.ts';
import {requireFreeAddresses} from './free-addresses.ts';
import {startTimers} from './jobs.ts';
import {openListeners} from './listeners.ts';
import {openConfig} from './live-settings.ts';
import {openRecords} from './records.ts';
import {createServices} from './services.ts';
import {openStorage} from './storage.ts';
import {certificateHosts} from './tls-files.ts';
import {createCertificateInstaller, openTrust} from './trust.ts';

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
  now?: () => number;
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

const open = async ({data, loaded, log, version, now = Date.now}: Needs, closers: Closers): Promise<RunningNode> => {
  const folder = dataFolder(data);
  const phase: {now: 'starting' | 'open' | 'stopping'} = {now: 'starting'};
  const running = openConfig(loaded);
  closers.add(running.close);
  const {settings} = running;
  const {config} = loaded;
  const fqdn = config.fqdn ?? hostname();
  const metrics = createMetrics(version);

  const storage = await openStorage({folder, config, log, now, closers});
  await requireFreeAddresses(config, {file: folder.config});
  const {nodeId, nodeNo} = storage;
  const records = await openRecords({...storage, log, now});
  const trust = await openTrust({folder, identity: {nodeId, nodeNo}, running, records, log, now});
  const cluster = openCluster({config, settings, storage, records, trust, version, closers, log, now});
  const services = createServices({config, settings, storage, fqdn, records, trust, cluster, metrics, log, now});
  closers.add(services.close);
  const noteNames = async () => services.issuedNames.shown(nodeNo, certificateHosts(trust.certificates.current().cluster.cert));
  await noteNames();

  const listeners = await openListeners({
    ...{config, settings, storage, fqdn, records, trust, ...cluster, services, closers, metrics, log, now},
    phase: () => phase.now,
  });
  const renew = createCertificateInstaller({
    ...{...trust, peers: cluster.peers, noteNames, log},
    askPeers: cluster.authorities.askForCertificates,
    listeners: {api: listeners.api, mail: listeners.mail.smtp, cluster: listeners.cluster},
    isRemoved: records.membership.isRemoved,
  });
  const renewOrLog = async (isForced: boolean) =>
    renew(isForced).catch(error => log.error({err: error}, 'certificate renewal failed'));
  const {links} = cluster;
  const {reserveFile} = storage;
  const timers = startTimers({services, records, links, reserveFile, metrics, log, config: running.config, renew});
  closers.add(async () => {
    // Jobs that wait for other nodes end when these connections close.
    const idle = timers.stop();
    await links.stop();
    await idle;
  });
  phase.now = 'open';
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
      phase.now = 'stopping';
      // These requests never end on their own.
      services.events.close();
      services.forPeers.bus.close();
      await listeners.stop();
      await closers.closeAll();
    },
  };
};
