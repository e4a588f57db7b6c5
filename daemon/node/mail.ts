// Listeners for mail of one node, wired to its services: the SMTP gateway, the milter and the routing tables.
import type {Logger} from 'pino';
import {parseHostPort} from '../../shared/host-port.ts';
import type {KeyAndCertificate} from '../cluster/certificates.ts';
import type {Config} from '../config/schema.ts';
import type {Metrics} from '../http/metrics.ts';
import {createRecipientCheck} from '../mail/backend/recipient-check.ts';
import {createClientNames} from '../mail/gateway/clients.ts';
import {startSmtpGateway} from '../mail/gateway/smtp-gateway.ts';
import {formatLocalAddress, type LocalAddress, type LocalListener} from '../mail/local-listener.ts';
import {startMilterServer} from '../mail/milter/milter-connection.ts';
import {clusterKeyword} from '../mail/smtp-reply.ts';
import {createRoutingTables} from '../mail/socketmap/routing-tables.ts';
import {startSocketmapServer} from '../mail/socketmap/socketmap-server.ts';
import {traceHeader} from '../mail/trace-header.ts';
import {createQueueIds} from '../services/intake/mail.ts';
import type {LiveSettings} from './live-settings.ts';
import type {Records} from './records.ts';
import type {Services} from './services.ts';

interface Needs {
  config: Config;
  settings(): LiveSettings;
  services: Pick<Services, 'intake' | 'pool' | 'sign'>;
  nodeNo: number;
  fqdn: string;
  /** Certificate of the cluster's authority, PEM. */
  ca: string;
  metrics: Metrics;
  log: Logger;
  now: () => number;
  tls: KeyAndCertificate;
  tmpDir: string;
  graceMs: number;
}

export const startMail = async ({
  config,
  services,
  tls,
  tmpDir,
  graceMs,
  fqdn,
  ca,
  nodeNo,
  now,
  log,
  metrics,
  settings,
}: Needs) => {
  const {smtp} = config;
  const gateway = await startSmtpGateway({
    listen: parseHostPort(smtp.listen, {allowZero: true}) ?? {host: '127.0.0.1', port: 0},
    hostname: fqdn,
    keyword: clusterKeyword(ca),
    tls,
    maxSize: smtp.max_size,
    maxConnections: smtp.max_connections,
    maxConnectionsPerClient: smtp.max_connections_per_client,
    maxRecipients: smtp.max_recipients,
    clientNames: smtp.reverse_lookup ? createClientNames() : undefined,
    drainMs: graceMs,
    isTrusted: ip => settings().trusted.contains(ip),
    pool: services.pool,
    tmpDir,
    newQueueId: createQueueIds(nodeNo, now),
    log,
    intake: {
      ...services.intake,
      async relayPrefix(mail, {direction, domain}) {
        const trace = traceHeader(mail, fqdn);
        const isSigned = direction === 'outbound' && domain.dkim_active;
        return isSigned ? Buffer.concat([trace, await services.sign(domain, mail.content)]) : trace;
      },
      recordVerdict: metrics.verdict,
      recordRelay: outcome => metrics.delivery('relay', outcome),
    },
  });
  return {address: gateway.address, setCertificate: gateway.updateSecureContext, stop: gateway.stop};
};

interface MilterNeeds {
  listen: LocalAddress;
  config: Config;
  settings(): LiveSettings;
  metrics: Metrics;
  log: Logger;
  services: Pick<Services, 'milterIntake' | 'sign'>;
  tmpDir: string;
  graceMs: number;
}

export const openMilter = async (needs: MilterNeeds): Promise<LocalListener> => {
  const {listen, config, services, tmpDir, graceMs, settings, metrics, log} = needs;
  const server = await startMilterServer({
    listen,
    maxSize: config.smtp.max_size,
    maxConnections: config.smtp.max_connections,
    tmpDir,
    drainMs: graceMs,
    isTrusted: ip => settings().trusted.contains(ip),
    log,
    intake: {...services.milterIntake, sign: services.sign, recordVerdict: metrics.verdict},
  });
  log.info({address: formatLocalAddress(server.address)}, 'milter open');
  return {address: server.address, stop: server.stop};
};

interface RoutingTablesNeeds {
  listen: LocalAddress;
  records: Records;
  log: Logger;
  now: () => number;
  services: Pick<Services, 'intake' | 'pool'>;
  graceMs: number;
}

export const openTables = async ({listen, services, records, log, now, graceMs}: RoutingTablesNeeds): Promise<LocalListener> => {
  const tables = createRoutingTables({
    domains: records.domainDirectory,
    routeTo: domain => services.intake.routeOf({direction: 'inbound', domain}),
    recipients: createRecipientCheck({pool: services.pool, now}),
    standstill: records.membership.advice,
  });
  const server = await startSocketmapServer({
    listen,
    lookUp: tables.lookUp,
    onFailure: error => log.error({err: error}, 'a table lookup by Postfix failed'),
  });
  return {address: server.address, stop: async () => server.stop(graceMs)};
};
