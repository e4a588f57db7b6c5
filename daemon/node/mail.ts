// Listeners for mail of one node, wired to its services: the SMTP gateway, the milter and the routing tables.

import type {Domain} from '../../shared/domain.ts';
import {canonicalDomain} from '../../shared/domain-name.ts';
import {formatHostPort} from '../../shared/host-port.ts';
import {owningDomain, withoutBrackets} from '../../shared/mail-address.ts';
import {arrivalFields} from '../mail/authentication/arrival-fields.ts';
import {createClaimCheck, resultsField} from '../mail/authentication/results-field.ts';
import {createRecipientCheck} from '../mail/backend/recipient-check.ts';
import {withoutFields} from '../mail/field-removal.ts';
import {createClientNames} from '../mail/gateway/clients.ts';
import {startSmtpGateway} from '../mail/gateway/smtp-gateway.ts';
import {formatLocalAddress, type LocalAddress, type LocalListener, parseLocalAddress} from '../mail/local-listener.ts';
import {type EnvelopeRefusal, type IntakePort, loggedText, verdictOf} from '../mail/mail-decision.ts';
import {startMilterServer} from '../mail/milter/milter-connection.ts';
import {reportOriginOf} from '../mail/report/report-origin.ts';
import {clusterKeyword} from '../mail/smtp-reply.ts';
import {createRoutingTables} from '../mail/socketmap/routing-tables.ts';
import {startSocketmapServer} from '../mail/socketmap/socketmap-server.ts';
import {unknownMail} from '../services/events/held-event.ts';
import type {NewMailEvent} from '../services/events/mail-event.ts';
import type {Intake} from '../services/intake/intake.ts';
import {createQueueIds, replyText} from '../services/intake/mail.ts';
import type {Base} from './base.ts';
import type {Closers} from './closers.ts';
import {listenOf} from './free-addresses.ts';
import {graceMs} from './listen.ts';
import type {Services} from './services.ts';

export const openMailListeners = async (base: Base, services: Services, closers: Closers) => {
  const {milter_listen, socketmap_listen} = base.config.postfix;
  const smtp = await openGateway(base, services);
  closers.add(smtp.stop);
  await services.announcement.announce({smtp_listen: formatHostPort(smtp.address)});
  const milter = await openLocal(milter_listen, async listen => openMilter(listen, base, services));
  closers.add(milter.stop);
  const tables = await openLocal(socketmap_listen, async listen => openTables(listen, base, services));
  closers.add(tables.stop);
  return {smtp, milter, tables};
};

/** Opens nothing without an address. */
const openLocal = async (address: string | undefined, open: (listen: LocalAddress) => Promise<LocalListener>) => {
  const listen = parseLocalAddress(address ?? '');
  return listen ? open(listen) : {address: undefined, stop: async () => undefined};
};

const openGateway = async (base: Base, services: Services) => {
  const {settings, storage, fqdn, trust, log, now} = base;
  const {smtp} = base.config;
  return startSmtpGateway({
    listen: listenOf(smtp.listen),
    hostname: fqdn,
    keyword: clusterKeyword(trust.ca),
    tls: trust.certificates.current().api,
    maxSize: smtp.max_size,
    maxConnections: smtp.max_connections,
    maxConnectionsPerClient: smtp.max_connections_per_client,
    maxRecipients: smtp.max_recipients,
    clientNames: smtp.reverse_lookup ? createClientNames() : undefined,
    drainMs: graceMs,
    isTrusted: ip => settings().trusted.contains(ip),
    pool: services.pool,
    tmpDir: storage.tmpDir,
    newQueueId: createQueueIds(storage.nodeNo, now),
    log,
    intake: intakeOf(base, services, services.intake),
  });
};

const intakeOf = ({records, fqdn, metrics}: Base, {dmarc, inbox, sign, eventLog}: Services, intake: Intake): IntakePort => ({
  ...intake,
  count: dmarc.count,
  takeReport: async (mail, judgement) => inbox.take(mail.content, reportOriginOf(mail, judgement)),
  createClaimCheck: () => createClaimCheck(isNodeOf(records)),
  withoutClaims: mail => withoutFields(mail, createClaimCheck(isNodeOf(records))),
  async relayPrefix(mail, {direction, domain}, judgement) {
    const fields = arrivalFields(mail, judgement, fqdn);
    const isSigned = direction === 'outbound' && domain.dkim_active;
    return isSigned ? Buffer.concat([fields, await sign(domain, mail.content)]) : fields;
  },
  resultsField: (mail, {verified}) => (verified ? resultsField(verified.results, mail, fqdn) : Buffer.alloc(0)),
  sign,
  recordVerdict: metrics.verdict,
  recordEvent: eventLog.record,
  recordRefusal: refusal => eventLog.recordRefusal(refusal.client.ip, () => refusalEvent(refusal, ownerOf(records, refusal))),
  leaveOutRefusal: eventLog.leaveOutRefusal,
  recordRelay: outcome => metrics.delivery('relay', outcome),
});

/** The domain that a refused mail was for; undefined when it is none of the cluster. */
const ownerOf = ({domainDirectory}: Base['records'], {recipient}: EnvelopeRefusal): Domain | undefined =>
  recipient === undefined ? undefined : domainDirectory.findByName(owningDomain(recipient) ?? '');

const refusalEvent = ({client, sender, recipient, reply}: EnvelopeRefusal, domain: Domain | undefined): NewMailEvent => ({
  ...unknownMail,
  event: verdictOf(reply) === 'refused' ? 'refused' : 'deferred',
  at: new Date().toISOString(),
  direction: domain ? 'inbound' : null,
  domain: domain?.name ?? null,
  domain_id: domain?.id ?? null,
  sender: loggedText(sender),
  recipients: recipient === undefined ? [] : [loggedText(withoutBrackets(recipient))],
  client,
  reply: replyText(reply),
  server: reply.server ?? null,
});

/** Whether a name in lower case, with A-labels, is that of a node. */
const isNodeOf =
  ({nodeDirectory}: Base['records']) =>
  (host: string): boolean =>
    nodeDirectory.list().some(({fqdn}) => (canonicalDomain(fqdn) ?? fqdn.toLowerCase()) === host);

const openMilter = async (listen: LocalAddress, base: Base, services: Services) => {
  const {config, settings, storage, log} = base;
  const server = await startMilterServer({
    listen,
    maxSize: config.smtp.max_size,
    maxConnections: config.smtp.max_connections,
    tmpDir: storage.tmpDir,
    drainMs: graceMs,
    isTrusted: ip => settings().trusted.contains(ip),
    log,
    intake: intakeOf(base, services, services.milterIntake),
  });
  log.info({address: formatLocalAddress(server.address)}, 'milter open');
  return server;
};

const openTables = async (
  listen: LocalAddress,
  {storage: {engine}, records, log, now}: Pick<Base, 'storage' | 'records' | 'log' | 'now'>,
  services: Services,
): Promise<LocalListener> => {
  const tables = createRoutingTables({
    domains: records.domainDirectory,
    routeTo: domain => services.intake.routeOf({direction: 'inbound', domain}),
    isForReports: services.inbox.isForReports,
    recipients: createRecipientCheck({pool: services.pool, now}),
    standstill: () => records.membership.advice() ?? (engine.isReachable() ? undefined : 'PostgreSQL does not answer'),
  });
  const server = await startSocketmapServer({
    listen,
    lookUp: tables.lookUp,
    onFailure: error => log.error({err: error}, 'a table lookup by Postfix failed'),
  });
  return {address: server.address, stop: async () => server.stop(graceMs)};
};
