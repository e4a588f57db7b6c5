// Hold queue of this node, with intake and release.
import {Fault} from '../../shared/fault.ts';
import type {HoldBackend} from '../hold/hold-backend.ts';
import type {SpoolHolderNeeds} from '../hold/spool/spool-backend.ts';
import type {Metrics} from '../http/metrics.ts';
import {createBackendFailures, createBackendPool} from '../mail/backend/backend-pool.ts';
import {createDeliver} from '../mail/backend/deliver.ts';
import type {Readers} from '../mail/readers/readers.ts';
import {clusterKeyword} from '../mail/smtp-reply.ts';
import type {ReportInbox} from '../services/dmarc/report-inbox.ts';
import type {DomainDirectory} from '../services/domains/domain-directory.ts';
import type {EventBus} from '../services/events/event-bus.ts';
import {createIntake, routeFor} from '../services/intake/intake.ts';
import type {Deliver, MailHolder, MailVerifier, Route} from '../services/intake/mail.ts';
import type {StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import {createTrainer} from '../services/quarantine/trainer.ts';
import {openVerifier} from './authentication.ts';
import type {Base} from './base.ts';
import {openCommonHold} from './common-hold.ts';
import {noteUse, watchBackends, watchedScorer, watchSmarthost} from './dependencies.ts';
import {createHeaderJob} from './header-job.ts';
import type {Hold, HoldNeeds} from './hold-make.ts';
import type {LiveSettings} from './live-settings.ts';
import {openOwnHold} from './own-hold.ts';
import {openPostfix} from './postfix.ts';

export const openHold = (base: Base, bus: EventBus, {inbox, readers}: {inbox: ReportInbox; readers: Readers}) => {
  const {settings, storage, records, metrics, log, now} = base;
  const {pool, sign, deliver} = openDelivery(base, readers);
  const onHeld: SpoolHolderNeeds['onHeld'] = (mail, domainId) => bus.publish({type: 'held', ...mail}, domainId);
  const postfix = openPostfix(base, onHeld);
  const needs: HoldNeeds = {
    delivery: {deliver, routeOf: mail => releaseRoute(mail, records.domainDirectory, settings())},
    postfix: postfix?.backend ?? noPostfix,
    onHeld,
    readJob: (readFrom, hasEarlier = () => false) =>
      createHeaderJob({readFrom, mayCome: () => postfix !== undefined || hasEarlier(), log}),
    common: {
      trainer: createTrainer({
        nodeId: storage.nodeId,
        classifier: () => settings().classifier,
        isTrainedByActions: () => settings().isTrainedByActions,
        onTrained: metrics.trained,
        onOutage: detail => log.warn({detail}, 'Rspamd training failed: decisions made until it recovers are not learned'),
        onRecovery: missed => log.info({missed}, 'Rspamd learns again'),
        now,
      }),
      onActed: (outcome, domainId) => bus.publish({type: outcome.state, ...outcome}, domainId),
      onLeftover: (queueId, error) =>
        log.error({queue_id: queueId, err: error}, 'a file of the spool could not be removed; the next start tries again'),
      now,
    },
  };
  const {engine} = storage;
  const hold = engine.kind === 'own' ? openOwnHold(base, engine, needs) : openCommonHold(base, engine, needs);
  const verifier = openVerifier(base, readers);
  const intakeTo = (holder: MailHolder) => openIntake(base, {hold, verifier, holder, isForReports: inbox.isForReports});
  return {
    ...hold,
    verifier,
    intake: intakeTo(hold.holder),
    // Mail from the milter stays in Postfix.
    milterIntake: intakeTo(postfix?.holder ?? hold.holder),
    pool,
    sign,
    postfixPoll: postfix?.createPoll(hold.queue),
  };
};

const openDelivery = (
  {
    settings,
    records,
    fqdn,
    trust,
    metrics,
    dependencies,
    log,
    now,
  }: Pick<Base, 'settings' | 'records' | 'fqdn' | 'trust' | 'metrics' | 'dependencies' | 'log' | 'now'>,
  {signMail}: Readers,
) => {
  const sign: NonNullable<Parameters<typeof createDeliver>[0]['sign']> = async ({id, name}, content) => {
    const keys = records.domainDirectory.dkimKeysOf(id).map(key => ({...key, domain: name}));
    if (keys.length === 0) log.warn({domain: name}, 'mail leaves unsigned: dkim_active is set, but there is no DKIM key');
    return signMail(content, keys);
  };
  const pool = createBackendPool({
    hostname: fqdn,
    ownKeyword: clusterKeyword(trust.ca),
    onFailure: createBackendFailures({log, now}),
    onUse: noteUse({settings, dependencies}),
  });
  watchBackends({records, dependencies}, pool);
  watchSmarthost({settings, dependencies}, pool);
  return {pool, sign, deliver: counted(createDeliver({pool, sign}), metrics)};
};

/** Throws a Fault `delivery_failed` with advice if there is no route. */
const releaseRoute = (
  {domain_id, domain: name, direction}: StoredHeldMail,
  domains: DomainDirectory,
  {smarthost}: LiveSettings,
): Route => {
  const domain = domains.findById(domain_id) ?? domains.findByName(name);
  // Outbound mail is kept when its domain is deleted; the signing keys are not.
  const withoutDomain = direction === 'outbound' ? smarthost : undefined;
  const route = domain ? routeFor({direction, domain}, smarthost) : withoutDomain;
  if (route) return route;
  const detail =
    direction === 'outbound'
      ? 'there is no smtp.smarthost to deliver to; configure one, or discard the mail'
      : `the domain ${name} has no backend any more; create it again, or discard the mail`;
  throw new Fault('delivery_failed', detail);
};

const openIntake = (
  {
    storage,
    settings,
    records,
    metrics,
    dependencies,
    log,
  }: Pick<Base, 'storage' | 'settings' | 'records' | 'metrics' | 'dependencies' | 'log'>,
  {
    hold: {isStoreReachable},
    verifier,
    holder,
    isForReports,
  }: {hold: Hold; verifier: MailVerifier; holder: MailHolder} & Pick<ReportInbox, 'isForReports'>,
) =>
  createIntake({
    domains: records.domainDirectory,
    isForReports,
    scorer: watchedScorer({settings, dependencies}),
    verifier: () => (settings().isMailVerified ? verifier : undefined),
    weigh: verified => settings().weigh(verified),
    isUndecided: verified => settings().isUndecided(verified),
    smarthost: () => settings().smarthost,
    hasSpace: storage.reserveFile.hasSpace,
    isStoreReachable,
    isRemoved: records.membership.isRemoved,
    onScorerFailure: () => settings().onScorerFailure,
    onUnscored(error) {
      metrics.unscored();
      log.error({err: error}, 'mail could not be scored');
    },
    holder,
  });

/** There are mails in Postfix's hold queue, but this node's configuration no longer names it. */
const refuse = async (): Promise<never> => {
  throw new Fault('unavailable', 'this mail is in the hold queue of Postfix; set postfix.config_dir on its node again');
};
const noPostfix: HoldBackend = {
  isReadableToTheEnd: false,
  release: refuse,
  discard: refuse,
  forget: async () => {},
  body: refuse,
};

const counted = (deliver: Deliver, metrics: Metrics): Deliver => ({
  async deliver(route, envelope, content) {
    const results = await deliver.deliver(route, envelope, content);
    for (const {outcome} of results) metrics.delivery('release', outcome);
    return results;
  },
});
