// The SMTP gateway of one node, wired to its services.
import type {Logger} from 'pino';
import {parseHostPort} from '../../shared/host-port.ts';
import type {KeyAndCertificate} from '../cluster/certificates.ts';
import type {Config} from '../config/schema.ts';
import type {Metrics} from '../http/metrics.ts';
import {clusterKeyword} from '../mail/cluster-keyword.ts';
import {createClientNames} from '../mail/gateway/client-names.ts';
import {startSmtpGateway} from '../mail/gateway/smtp-gateway.ts';
import {traceHeader} from '../mail/trace-header.ts';
import {createQueueIds} from '../services/intake/queue-id.ts';
import type {LiveSettings} from './live-settings.ts';
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
