// Listeners of one node, opened in order: metrics, peers, API, mail. The node announces each address once it is open.
import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import {formatHostPort} from '../../shared/host-port.ts';
import type {Peers} from '../cluster/peers.ts';
import type {Config} from '../config/schema.ts';
import {createApi} from '../http/api/app.ts';
import {deprecations} from '../http/api/openapi-text.ts';
import type {Metrics} from '../http/metrics.ts';
import {type LocalAddress, type LocalListener, parseLocalAddress} from '../mail/local-listener.ts';
import type {Closers} from './closers.ts';
import type {ClusterLinks, ReplicationParts} from './cluster.ts';
import {apiUrl, clusterUrl, listenOf} from './free-addresses.ts';
import {listenHttps} from './listen.ts';
import type {LiveSettings} from './live-settings.ts';
import {openMilter, openTables, startMail} from './mail.ts';
import {openMetricsListener, openPeerListener} from './peer-listener.ts';
import type {Records} from './records.ts';
import type {Services} from './services.ts';
import type {Storage} from './storage.ts';
import type {Trust} from './trust.ts';

interface Needs {
  config: Config;
  settings(): LiveSettings;
  storage: Storage;
  fqdn: string;
  records: Records;
  trust: Trust;
  peers: Peers;
  replicated: ReplicationParts;
  links: ClusterLinks;
  services: Services;
  phase(): 'starting' | 'open' | 'stopping';
  closers: Closers;
  metrics: Metrics;
  log: Logger;
  now: () => number;
}

const graceMs = 7000;
const firstPollMs = 5000;

export const openListeners = async (needs: Needs) => {
  const {config, storage, records, trust, services, links, closers, metrics: counters, log} = needs;
  const {certificates, ca} = trust;
  const {announce} = services.announcement;

  const metrics = await openMetricsListener({
    ...{config, records, services, log, phase: needs.phase},
    ...{store: storage.store, reserveFile: storage.reserveFile, metrics: counters, cutOff: trust.cutOff},
    certificates: () => ({api: certificates.current().api.cert, cluster: certificates.current().cluster.cert}),
  });
  closers.add(async () => metrics.stop(0));
  const cluster = await openPeerListener({
    ...{config, records, services, log, peers: needs.peers, replicated: needs.replicated, nodeNo: storage.nodeNo},
    credentials: {...certificates.current().cluster, ca},
  });
  closers.add(async () => cluster.stop(0));
  await announce({fqdn: needs.fqdn, cluster_url: clusterUrl(config, needs.fqdn, cluster.address)});
  services.joining.begin(await links.greet());
  // Actions from before the restart are settled before the API opens; a slow queue is not waited for.
  await Promise.race([services.postfixPoll?.run(), delay(firstPollMs, undefined, {ref: false})]);

  const app = createApi({
    ...services,
    ...{membership: records.membership, explainDrift: links.explainDrift, deprecations, metrics: counters, log},
  });
  const api = await listenHttps(listenOf(config.api.listen), certificates.current().api, app.callback());
  closers.add(async () => api.stop(graceMs));
  await announce({api_url: apiUrl(config, needs.fqdn, api.address)});
  const mail = await openMailListeners(needs);

  return {
    ...{metrics, cluster, api, mail},
    /** All close at the same time, as their grace periods would otherwise add up. */
    async stop() {
      await Promise.all([mail.milter.stop(), mail.tables.stop(), mail.smtp.stop(), api.stop(graceMs), cluster.stop(graceMs)]);
    },
  };
};

const openMailListeners = async ({config, settings, storage, fqdn, records, trust, services, closers, ...needs}: Needs) => {
  const {metrics, log, now} = needs;
  const {ca, certificates} = trust;
  const common = {config, settings, services, tmpDir: storage.spool.tmpDir, graceMs, metrics, log};
  const smtp = await startMail({...common, tls: certificates.current().api, nodeNo: storage.nodeNo, fqdn, ca, now});
  closers.add(smtp.stop);
  await services.announcement.announce({smtp_listen: formatHostPort(smtp.address)});
  const milter = await openLocal(config.postfix.milter_listen, async listen => openMilter({...common, listen}));
  closers.add(milter.stop);
  const tables = await openLocal(config.postfix.socketmap_listen, async listen =>
    openTables({listen, services, records, graceMs, log, now}),
  );
  closers.add(tables.stop);
  return {smtp, milter, tables};
};

/** Opens nothing without an address. */
const openLocal = async (address: string | undefined, open: (listen: LocalAddress) => Promise<LocalListener>) => {
  const listen = parseLocalAddress(address ?? '');
  return listen ? open(listen) : {address: undefined, stop: async () => undefined};
};
