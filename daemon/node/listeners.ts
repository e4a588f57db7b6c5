// Listeners of one node, opened in order: metrics, peers, API, mail. The node announces each address once it is open.
import {setTimeout as delay} from 'node:timers/promises';
import {createApi} from '../http/api/app.ts';
import type {Base} from './base.ts';
import {hasOther} from './certificate-renewal.ts';
import type {Closers} from './closers.ts';
import type {Cluster} from './cluster.ts';
import {createConnections} from './connections.ts';
import {apiUrl, clusterUrl, listenOf} from './free-addresses.ts';
import {graceMs, listenHttps} from './listen.ts';
import {openMailListeners} from './mail.ts';
import {openMetricsListener, openPeerListener, type Phase} from './peer-listener.ts';
import {openPages} from './recipient-pages.ts';
import type {Services} from './services.ts';
import {certificateHosts} from './tls-files.ts';

interface Needs {
  cluster: Cluster;
  services: Services;
  phase(): Phase;
  closers: Closers;
}

const firstPollMs = 5000;

export const openListeners = async (base: Base, {services, phase, closers, ...needs}: Needs) => {
  const {config, fqdn, records, trust, log} = base;
  const {links} = needs.cluster;
  const {announce} = services.announcement;

  await noteNames(base, services);
  const metrics = await openMetricsListener(base, services, phase);
  closers.add(async () => metrics.stop(0));
  const cluster = await openPeerListener(base, needs.cluster, services);
  closers.add(async () => cluster.stop(0));
  await announce({fqdn, cluster_url: clusterUrl(config, fqdn, cluster.address)});
  services.joining.begin(await links.greet());
  // Actions from before the restart are settled before the API opens; a slow queue is not waited for.
  await Promise.race([services.postfixPoll?.run(), delay(firstPollMs, undefined, {ref: false})]);

  const {membership} = records;
  const connections = createConnections();
  const app = createApi({
    ...services,
    membership,
    explainDrift: links.explainDrift,
    noteKeyShown: ({socket}) => connections.trust(socket),
    metrics: base.metrics,
    log,
  });
  const tls = {...trust.certificates.current().api, connections};
  const api = await listenHttps(listenOf(config.api.listen), tls, app.callback());
  closers.add(async () => api.stop(graceMs));
  await announce({api_url: apiUrl(config, fqdn, api.address)});
  const pages = await openPages(base, services);
  if (pages) closers.add(async () => pages.stop(graceMs));
  const mail = await openMailListeners(base, services, closers);

  return {
    ...{metrics, cluster, api, pages, mail},
    /** All close at the same time, as their grace periods would otherwise add up. */
    async stop() {
      await Promise.all([
        mail.milter.stop(),
        mail.tables.stop(),
        mail.smtp.stop(),
        api.stop(graceMs),
        pages?.stop(graceMs),
        cluster.stop(graceMs),
      ]);
    },
  };
};

/** Records the names in this node's certificates. */
const noteNames = async ({storage, trust}: Pick<Base, 'storage' | 'trust'>, {issuedNames}: Services): Promise<void> =>
  issuedNames.shown(storage.nodeNo, certificateHosts(trust.certificates.current().cluster.cert));

interface RenewalNeeds extends Pick<Needs, 'cluster' | 'services'> {
  listeners: Awaited<ReturnType<typeof openListeners>>;
}

/** Checks the files and the age of the certificates, and installs new ones. Rejects when renewal fails, unless this node was removed or is cut off. */
export const createRenewal = (
  base: Pick<Base, 'storage' | 'records' | 'trust' | 'log'>,
  {cluster: {peers, authorities}, services, listeners}: RenewalNeeds,
) => {
  const {records, log} = base;
  const {certificates, cutOff, ca} = base.trust;

  const install = async (): Promise<void> => {
    const {api, cluster, pages} = certificates.current();
    await noteNames(base, services);
    listeners.api.setCertificate(api);
    listeners.pages?.setCertificate(pages);
    listeners.mail.smtp.updateSecureContext(api);
    listeners.cluster.setCertificate(cluster);
    peers.setCertificate({...cluster, ca});
    log.info('certificates renewed');
  };

  return async (isForced = false): Promise<void> => {
    listeners.cluster.expel();
    const before = certificates.current();
    const failure = await certificates.refresh(authorities.askForCertificates, isForced).then(
      () => undefined,
      (error: unknown) => ({error}),
    );
    if (hasOther(before, certificates.current())) await install();
    // The requests of a removed node always fail, which is logged elsewhere.
    if (failure && !records.membership.isRemoved() && !cutOff.couldNotRenew(failure.error)) throw failure.error;
  };
};
