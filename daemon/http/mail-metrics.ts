// Metrics of mail.
import {Counter, Gauge, type Registry} from 'prom-client';

export interface MailMetrics {
  verdict(verdict: string): void;
  delivery(kind: 'relay' | 'release', outcome: string): void;
  /** Counts a mail that could not be scored. */
  unscored(): void;
  /** Counts a DMARC report that has been sent, or is not tried again. */
  dmarcReport(outcome: string): void;
  /** Counts a mail that is missing in the counts for DMARC reports. */
  dmarcUncounted(): void;
  /** Whether the name servers do not answer, so that mail is not verified. */
  dnsMute(isMute: boolean): void;
  /** Counts a try to deliver a digest. */
  digest(outcome: 'sent' | 'refused' | 'waiting' | 'unknown'): void;
  /** Counts an answer of the pages for recipients. */
  page(status: number): void;
  expired(count: number): void;
  /** Counts entries that are not in the event log. */
  eventsLeftOut(why: 'refusals' | 'store', count?: number): void;
  /** Counts entries that were removed because there were too many. */
  eventsSurplus(count: number): void;
  /** Counts a try of an event at the address of a webhook, or an event that was given up. */
  webhookDelivery(result: 'taken' | 'failed' | 'given_up'): void;
  /** How many logs are not taken by a webhook now. */
  webhooksFailing(count: number): void;
  /** Records a successful poll of Postfix's hold queue, at this time in milliseconds. */
  postfixReconciled(at: number): void;
  postfixFailed(): void;
  /** Counts the outcome of a training sample for Rspamd. */
  trained(sampleClass: 'ham' | 'spam', outcome: 'learned' | 'known' | 'failed'): void;
}

export const createMailMetrics = (registers: Registry[]): MailMetrics => ({
  ...createIntakeMetrics(registers),
  ...createDmarcMetrics(registers),
  ...createPostfixMetrics(registers),
  ...createEventMetrics(registers),
  ...createWebhookMetrics(registers),
  ...createDigestMetrics(registers),
});

const createDigestMetrics = (registers: Registry[]): Pick<MailMetrics, 'digest' | 'page'> => {
  const digests = new Counter({
    name: 'mfd_digests_total',
    help: 'Digests that this node has tried to deliver to recipients; those that wait are tried again',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of ['sent', 'refused', 'waiting', 'unknown']) digests.inc({outcome}, 0);
  const pages = new Counter({
    name: 'mfd_recipient_pages_total',
    help: 'Answers of the pages for recipients, by status; many 404 are guesses',
    labelNames: ['status'],
    registers,
  });
  return {digest: outcome => digests.inc({outcome}), page: status => pages.inc({status: String(status)})};
};

const createWebhookMetrics = (registers: Registry[]): Pick<MailMetrics, 'webhookDelivery' | 'webhooksFailing'> => {
  const deliveries = new Counter({
    name: 'mfd_webhook_deliveries_total',
    help: 'Tries of events at the addresses of webhooks that this node sends, and events that were given up',
    labelNames: ['result'],
    registers,
  });
  for (const result of ['taken', 'failed', 'given_up']) deliveries.inc({result}, 0);
  const failing = new Gauge({
    name: 'mfd_webhooks_failing',
    help: 'Webhooks whose address takes nothing from this node now; one that sends for another node counts for each',
    registers,
  });
  return {webhookDelivery: result => deliveries.inc({result}), webhooksFailing: count => failing.set(count)};
};

const createEventMetrics = (registers: Registry[]): Pick<MailMetrics, 'eventsLeftOut' | 'eventsSurplus'> => {
  const leftOut = new Counter({
    name: 'mfd_events_left_out_total',
    help: 'Entries that are not in the event log: of more refusals than it takes, or because the store took none',
    labelNames: ['why'],
    registers,
  });
  for (const why of ['refusals', 'store']) leftOut.inc({why}, 0);
  const surplus = new Counter({
    name: 'mfd_events_surplus_total',
    help: 'Entries that were removed from the event log before their time, because of events.max_rows',
    registers,
  });
  return {eventsLeftOut: (why, count = 1) => leftOut.inc({why}, count), eventsSurplus: count => surplus.inc(count)};
};

const createIntakeMetrics = (
  registers: Registry[],
): Pick<MailMetrics, 'verdict' | 'delivery' | 'unscored' | 'expired' | 'trained'> => {
  const verdicts = new Counter({
    name: 'mfd_intake_verdicts_total',
    help: 'Mails by outcome',
    labelNames: ['verdict'],
    registers,
  });
  for (const verdict of ['relayed', 'held', 'report', 'rejected', 'refused', 'deferred']) verdicts.inc({verdict}, 0);
  const deliveries = new Counter({
    name: 'mfd_deliveries_total',
    help: 'Deliveries to backends: relayed mails, and recipients of released ones, by outcome',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  for (const outcome of ['delivered', 'refused', 'deferred'])
    for (const kind of ['relay', 'release']) deliveries.inc({kind, outcome}, 0);
  const samples = new Counter({
    name: 'mfd_rspamd_lessons_total',
    help: 'Mails that Rspamd was to learn from, as ham or spam, by outcome',
    labelNames: ['lesson', 'outcome'],
    registers,
  });
  for (const outcome of ['learned', 'known', 'failed']) for (const lesson of ['ham', 'spam']) samples.inc({lesson, outcome}, 0);
  const unscored = new Counter({
    name: 'mfd_scanner_failures_total',
    help: 'Mails that the scanner gave no score',
    registers,
  });
  const expired = new Counter({name: 'mfd_held_mails_expired_total', help: 'Mails removed by retention', registers});

  return {
    verdict: verdict => verdicts.inc({verdict}),
    delivery: (kind, outcome) => deliveries.inc({kind, outcome}),
    unscored: () => unscored.inc(),
    expired: count => expired.inc(count),
    trained: (sampleClass, outcome) => samples.inc({lesson: sampleClass, outcome}),
  };
};

const createDmarcMetrics = (registers: Registry[]): Pick<MailMetrics, 'dnsMute' | 'dmarcReport' | 'dmarcUncounted'> => {
  const mute = new Gauge({
    name: 'mfd_authentication_dns_mute',
    help: '1 while the name servers do not answer, and inbound mail is not verified',
    registers,
  });
  const reports = new Counter({
    name: 'mfd_dmarc_reports_total',
    help: 'Aggregate reports of DMARC that are sent, refused by all addresses, or given up after 24 hours',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of ['sent', 'refused', 'given up']) reports.inc({outcome}, 0);
  const uncounted = new Counter({
    name: 'mfd_dmarc_uncounted_total',
    help: 'Mails that are missing in the reports, as too many kinds of mail came on one day',
    registers,
  });
  return {
    dnsMute: isMute => mute.set(Number(isMute)),
    dmarcReport: outcome => reports.inc({outcome}),
    dmarcUncounted: () => uncounted.inc(),
  };
};

/** Created with the first poll: metrics without labels would otherwise appear as 0 on a node without Postfix. */
const createPostfixMetrics = (registers: Registry[]): Pick<MailMetrics, 'postfixReconciled' | 'postfixFailed'> => {
  let made: {failures: Counter; last: Gauge} | undefined;
  const metrics = () => {
    made ??= {
      failures: new Counter({
        name: 'mfd_postfix_reconcile_failures_total',
        help: 'Failed polls of the hold queue of Postfix',
        registers,
      }),
      last: new Gauge({
        name: 'mfd_postfix_reconciled_timestamp_seconds',
        help: 'Time of the last successful poll of the hold queue of Postfix, 0 for never',
        registers,
      }),
    };
    return made;
  };
  return {
    postfixReconciled: at => metrics().last.set(at / 1000),
    postfixFailed: () => metrics().failures.inc(),
  };
};
