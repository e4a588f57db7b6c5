// The composition root: everything opened in order, each with what it needs, and closed in reverse.
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
import {createAuthorities} from '../services/cluster/authority.ts';
import {describedNames, ownNames} from '../services/cluster/certificate-names.ts';
import {apiUrl, clusterUrl, listenOf} from './addresses.ts';
import {openCertificates} from './certificate-renewal.ts';
import {type Closers, createClosers} from './closers.ts';
import {startCluster} from './cluster.ts';
import {createCutOff} from './cut-off.ts';
import {dataFolder} from './data-folder.ts';
import {requireFreeAddresses} from './free-addresses.ts';
import {startTimers} from './jobs.ts';
import {listenHttps} from './listen.ts';
import {openConfig} from './live-settings.ts';
import {startMail} from './mail.ts';
import {openMetricsListener} from './metrics-listener.ts';
import {openMilter} from './milter.ts';
import {openPeerListener} from './peer-listener.ts';
import {openRecords} from './records.ts';
import {createRenewal} from './renewal.ts';
import {openReplication} from './replication.ts';
import {openTables} from './routing-tables.ts';
import {createServices} from './services.ts';
import {openStorage} from './storage.ts';
import {apiHosts, authorityIn, certificateHosts} from './tls-files.ts';

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
const firstPollMs = 5000;

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

  const {store, spool, reserveFile, ...identity} = await openStorage({folder, config, log, now, closers});
  await requireFreeAddresses(config, {file: folder.config});
  const {nodeId, nodeNo} = identity;
  const records = await openRecords({store, nodeNo, reserveFile, log, now});
  const {nodeDirectory, membership} = records;

  const authority = async () => authorityIn(folder, now);
  const hasAuthority = (await authority()) !== undefined;
  const ca = await readFile(folder.caCert, 'utf8');
  // What the authority would not give is not asked for again and again. Whoever has it asks nobody.
  const claimant = {node_id: nodeId, isBeside: () => false};
  const certificates = await openCertificates({
    folder,
    identity,
    config: running.config,
    hosts(given) {
      const wanted = apiHosts(running.config());
      return hasAuthority ? wanted : ownNames(wanted, describedNames(nodeDirectory.list()), {...claimant, given});
    },
    authority,
    now,
  });
  const cutOff = createCutOff({since: () => (membership.isRemoved() ? undefined : certificates.cutOffSince()), log});

  const peers = startPeers({
    nodeNo,
    directory: nodeDirectory,
    credentials: {...certificates.current().cluster, ca},
    routes: config.cluster.routes,
  });
  closers.add(peers.close);
  const authorities = createAuthorities({
    own: authority,
    directory: nodeDirectory,
    peerStates: records.peerStates,
    peers: peers.list,
    nodeNo,
    onRemoved: membership.removedBy,
  });
  const driftAfterMs = config.cluster.drift_after * 1000;
  const replicated = openReplication({store, identity, records, settings, version, hasAuthority, driftAfterMs, log, now});
  const links = startCluster({nodeNo, config, records, replicated, peers, log});
  closers.add(links.stop);

  const services = createServices({
    ...{store, spool, reserveFile, identity, fqdn, ca, records, peers, authorities, hasAuthority, replicated, links},
    ...{settings, cutOff, metrics, log, now},
    postfixConfig: config.postfix,
    apiUrl: apiUrl(config, fqdn, listenOf(config.api.listen)),
  });
  closers.add(services.close);
  const noteNames = async () => services.issuedNames.shown(nodeNo, certificateHosts(certificates.current().cluster.cert));
  await noteNames();

  const metricsListener = await openMetricsListener({
    ...{config, store, reserveFile, records, services, metrics, cutOff, log},
    certificates: () => ({api: certificates.current().api.cert, cluster: certificates.current().cluster.cert}),
    phase: () => phase.now,
  });
  closers.add(async () => metricsListener.stop(0));
  const credentials = {...certificates.current().cluster, ca};
  const cluster = await openPeerListener({config, credentials, nodeNo, records, peers, replicated, services, log});
  closers.add(async () => cluster.stop(0));
  await services.announcement.announce({fqdn, cluster_url: clusterUrl(config, fqdn, cluster.address)});
  services.joining.begin(await links.greet());
  // What was under way when this node ended is settled before anybody can act again; a queue that takes long is not waited for.
  await Promise.race([services.postfixPoll?.run(), delay(firstPollMs, undefined, {ref: false})]);

  const {explainDrift} = links;
  const api = await listenHttps(
    listenOf(config.api.listen),
    certificates.current().api,
    createApi({...services, membership, explainDrift, deprecations, metrics, log}).callback(),
  );
  closers.add(async () => api.stop(graceMs));
  await services.announcement.announce({api_url: apiUrl(config, fqdn, api.address)});
  const intake = {config, settings, services, tmpDir: spool.tmpDir, graceMs, metrics, log};
  const mail = await startMail({...intake, tls: certificates.current().api, nodeNo, fqdn, ca, now});
  closers.add(mail.stop);
  await services.announcement.announce({smtp_listen: formatHostPort(mail.address)});
  const milter = await openMilter(intake);
  closers.add(milter.stop);
  const tables = await openTables({config, services, records, graceMs, log, now});
  closers.add(tables.stop);

  const renew = createRenewal({
    ...{certificates, ca, peers, noteNames, cutOff, log},
    askPeers: authorities.askForCertificates,
    listeners: {api, mail, cluster},
    isRemoved: membership.isRemoved,
  });
  const renewOrSay = async (isForced: boolean) =>
    renew(isForced).catch(error => log.error({err: error}, 'certificate renewal failed'));
  const timers = startTimers({services, records, links, reserveFile, metrics, log, config: running.config, renew});
  closers.add(async () => {
    // What the jobs wait for of other nodes ends with the connections to these.
    const idle = timers.stop();
    await links.stop();
    await idle;
  });
  phase.now = 'open';
  // What was due, and could not be had before the peers were there.
  void renewOrSay(false);

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
      const waiting = await running.replace(next);
      if (waiting.length > 0) log.warn({keys: waiting}, 'these keys take effect at the next start');
      log.level = next.config.log.level;
      await renewOrSay(true);
      log.info('configuration and certificates reread');
    },
    async stop() {
      phase.now = 'stopping';
      // These would never finish by themselves.
      services.events.close();
      services.forPeers.bus.close();
      // All listeners close at once, or the grace of one would be added to that of the other.
      await Promise.all([milter.stop(), tables.stop(), mail.stop(), api.stop(graceMs), cluster.stop(graceMs)]);
      await closers.closeAll();
    },
  };
};
