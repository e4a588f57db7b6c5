// The composition root: everything opened in order, closed in reverse, doors last and first.
import {readFile} from 'node:fs/promises';
import {hostname} from 'node:os';
import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import {formatHostPort, type HostPort} from '../../shared/host-port.ts';
import {startPeers} from '../cluster/peers.ts';
import type {LoadedConfig} from '../config/load.ts';
import {createApi} from '../http/api/app.ts';
import {deprecations} from '../http/api/openapi-text.ts';
import {createMetrics} from '../http/metrics.ts';
import type {LocalAddress} from '../mail/local-listener.ts';
import {describedNames, ownNames} from '../services/cluster/certificate-names.ts';
import {apiUrl, clusterUrl, listenOf} from './addresses.ts';
import {openCertificates} from './certificate-renewal.ts';
import {createClosers} from './closers.ts';
import {startCluster} from './cluster.ts';
import {createCutOff} from './cut-off.ts';
import {dataFolder} from './data-folder.ts';
import {requireFreeAddresses} from './free-addresses.ts';
import {startTimers} from './jobs.ts';
import {listenHttps} from './listen.ts';
import {fixedChanges, liveSettings} from './live-settings.ts';
import {startMail} from './mail.ts';
import {openMetricsDoor} from './metrics-listener.ts';
import {openMilter} from './milter.ts';
import {openPeerDoor} from './peer-listener.ts';
import {openRecords} from './records.ts';
import {openTables} from './routing-tables.ts';
import {createServices} from './services.ts';
import {openStorage} from './storage.ts';
import {apiHosts, authorityIn, certificateHosts, operatorPair} from './tls-files.ts';

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
  /** Takes over what can change while running; logs what cannot. Throws, changing nothing, when `loaded` cannot be used. */
  reload(loaded: LoadedConfig): Promise<void>;
  /** Finishes what is under way, for at most 7 s. */
  stop(): Promise<void>;
}

interface Needs {
  data: string;
  loaded: LoadedConfig;
  log: Logger;
  version: string;
  now?: () => number;
}

const graceMs = 7000;
const firstLookMs = 5000;

export const startNode = async ({data, loaded, log, version, now = Date.now}: Needs): Promise<RunningNode> => {
  const closers = createClosers(error => log.error({err: error}, 'closing failed'));
  try {
    return await open();
  } catch (error) {
    await closers.closeAll();
    throw error;
  }

  async function open(): Promise<RunningNode> {
    const folder = dataFolder(data);
    let {config} = loaded;
    let settings = liveSettings(loaded);
    let phase: 'starting' | 'open' | 'stopping' = 'starting';
    closers.add(() => settings.closeScorer());

    const storage = await openStorage({folder, config, log, now, closers});
    const {spool, ballast, nodeId} = storage;
    await requireFreeAddresses(config, {file: folder.config});

    const metrics = createMetrics(version);
    const fqdn = config.fqdn ?? hostname();
    const identity = {nodeId, nodeNo: storage.nodeNo};
    const authority = async () => authorityIn(folder, now);
    const records = await openRecords({...storage, log}, now);
    const {nodeDirectory} = records;
    const hasAuthority = (await authority()) !== undefined;
    // What the authority would not give is not asked for again and again. Whoever has it asks nobody.
    const claimant = {node_id: nodeId, isBeside: () => false};
    const certificates = await openCertificates({
      folder,
      identity,
      config: () => config,
      hosts: given =>
        hasAuthority ? apiHosts(config) : ownNames(apiHosts(config), describedNames(nodeDirectory.list()), {...claimant, given}),
      authority,
      askPeers: async requests => services.askForCertificates(requests),
      now,
    });
    const ca = await readFile(folder.caCert, 'utf8');
    const {isRemoved} = records.standing;
    const cutOff = createCutOff({since: () => (isRemoved() ? undefined : certificates.cutOffSince()), log});

    const peers = startPeers({
      nodeNo: storage.nodeNo,
      directory: nodeDirectory,
      credentials: {...certificates.current().cluster, ca},
      routes: config.cluster.routes,
    });
    closers.add(peers.close);
    const node = {
      ...storage,
      fqdn,
      log,
      metrics,
      now,
      settings: () => settings,
      postfix: config.postfix,
      records,
      peers,
      version,
      hasAuthority,
      driftAfterMs: config.cluster.drift_after * 1000,
      authority,
      ca,
      cutOff,
    };
    // As configured until it is open: the doors that open before it are asked already.
    let apiAddress = listenOf(config.api.listen);
    const services = createServices({
      ...node,
      apiUrl: () => apiUrl(loaded.config, fqdn, apiAddress),
      spread: async () => clustered.spread(),
      tellPeers: async () => clustered.tellPeers(),
    });
    closers.add(services.close);
    const noteOwnNames = async () =>
      services.issuedNames.shown(storage.nodeNo, certificateHosts(certificates.current().cluster.cert));
    await noteOwnNames();

    const clustered = startCluster({nodeNo: storage.nodeNo, config, records, services, peers, log});
    const timers = startTimers({
      services,
      records,
      cluster: clustered,
      ballast,
      log,
      config: () => config,
      renewCertificates,
      metrics,
    });
    closers.add(async () => {
      // What the timers wait for of other nodes ends with the connections to these.
      const idle = timers.stop();
      await clustered.stop();
      await idle;
    });

    const metricsListener = await openMetricsDoor({
      ...node,
      config,
      services,
      certificates: () => ({api: certificates.current().api.cert, cluster: certificates.current().cluster.cert}),
      phase: () => phase,
    });
    closers.add(async () => metricsListener.stop(0));
    const cluster = await openPeerDoor({...node, config, credentials: {...certificates.current().cluster, ca}, services});
    closers.add(async () => cluster.stop(0));
    await services.membership.announce({
      fqdn,
      cluster_url: clusterUrl(config, fqdn, cluster.address),
    });
    await clustered.greet();
    // What was under way when this node ended is settled before anybody can act again; a queue that takes long is not waited for.
    await Promise.race([services.postfixLook?.run(), delay(firstLookMs, undefined, {ref: false})]);
    const api = await listenHttps(
      listenOf(config.api.listen),
      certificates.current().api,
      createApi({
        ...services,
        standing: records.standing,
        explainDrift: clustered.explainDrift,
        deprecations,
        metrics,
        log,
      }).callback(),
    );
    closers.add(async () => api.stop(graceMs));
    apiAddress = api.address;
    await services.membership.announce({api_url: apiUrl(config, fqdn, api.address)});
    const mail = await startMail({...node, config, services, tls: certificates.current().api, tmpDir: spool.tmpDir, graceMs});
    closers.add(mail.stop);
    await services.membership.announce({smtp_listen: formatHostPort(mail.address)});
    const milter = await openMilter({...node, config, services, tmpDir: spool.tmpDir, graceMs});
    closers.add(milter.stop);
    const tables = await openTables({...node, config, services, graceMs});
    closers.add(tables.stop);
    phase = 'open';
    // What was due, and could not be had before the peers were there.
    void renewCertificates().catch(error => log.error({err: error}, 'certificate renewal failed'));

    async function renewCertificates(isForced = false): Promise<void> {
      // The doors that are not open yet could not be shown the new ones.
      if (phase === 'starting') return;
      cluster.expel();
      const before = certificates.current();
      const failure = await certificates.refresh(isForced).then(
        () => undefined,
        (error: unknown) => ({error}),
      );
      const pairs = certificates.current();
      if (pairs.api.cert !== before.api.cert || pairs.cluster.cert !== before.cluster.cert) {
        await noteOwnNames();
        api.setCertificate(pairs.api);
        mail.setCertificate(pairs.api);
        cluster.setCertificate(pairs.cluster);
        peers.setCertificate({...pairs.cluster, ca});
        log.info('certificates renewed');
      }
      // Who was removed asks in vain, and has said so.
      if (failure && !isRemoved() && !cutOff.couldNotRenew(failure.error)) throw failure.error;
    }

    return {
      nodeId,
      addresses: {
        api: api.address,
        cluster: cluster.address,
        metrics: metricsListener.address,
        smtp: mail.address,
        milter: milter.address,
        socketmap: tables.address,
      },
      async reload(next) {
        // All that can be wrong is tried before anything is taken over.
        await operatorPair(next.config);
        const before = settings;
        settings = liveSettings(next);
        // Mail that is being scored may finish where it began.
        setTimeout(before.closeScorer, config.scanner.rspamd_timeout * 1000).unref();
        const waiting = fixedChanges(loaded.config, next.config);
        if (waiting.length > 0) log.warn({keys: waiting}, 'these keys take effect at the next start');
        config = next.config;
        log.level = config.log.level;
        await renewCertificates(true).catch(error => log.error({err: error}, 'certificate renewal failed'));
        log.info('configuration and certificates reread');
      },
      async stop() {
        phase = 'stopping';
        // These would never finish by themselves.
        services.events.close();
        services.forPeers.bus.close();
        // All doors close at once, or the grace of one would be added to that of the other.
        await Promise.all([milter.stop(), tables.stop(), mail.stop(), api.stop(graceMs), cluster.stop(graceMs)]);
        await closers.closeAll();
      },
    };
  }
};
