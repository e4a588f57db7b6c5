// Figures for each alert: some at which it fires and others, close to them, at which it stays silent. In promtool's notation, one
// figure a minute: `1x60` is constant, `0+5x60` grows by five.

export interface AlertCase {
  /** Time of the evaluation, counted from the first figure. */
  at: string;
  fires: Record<string, string>;
  silent: Record<string, string>;
  /** Labels of the alert, in addition to its name and severity. */
  labels: Record<string, string>;
  summary: string;
}

const mx1 = 'job="mfd",instance="mx1:9090"';
const mx2 = 'job="mfd",instance="mx2:9090"';

const health = (stale: string, offline: string) => ({
  [`mfd_cluster_node_health{${mx1},node="mx2",health="online"}`]: '0x60',
  [`mfd_cluster_node_health{${mx1},node="mx2",health="stale"}`]: stale,
  [`mfd_cluster_node_health{${mx1},node="mx2",health="offline"}`]: offline,
  [`mfd_cluster_node_health{${mx2},node="mx2",health="stale"}`]: '0x60',
  [`mfd_cluster_node_health{${mx2},node="mx2",health="offline"}`]: '0x60',
});

const verdicts = (relayed: string, deferred: string) => ({
  [`mfd_intake_verdicts_total{${mx1},verdict="relayed"}`]: relayed,
  [`mfd_intake_verdicts_total{${mx1},verdict="deferred"}`]: deferred,
});

const deliveries = (kind: string, delivered: string, deferred: string) => ({
  [`mfd_deliveries_total{${mx1},kind="${kind}",outcome="delivered"}`]: delivered,
  [`mfd_deliveries_total{${mx1},kind="${kind}",outcome="deferred"}`]: deferred,
});

const requests = (ok: string, failed: string) => ({
  [`mfd_http_request_duration_seconds_count{${mx1},status="200"}`]: ok,
  [`mfd_http_request_duration_seconds_count{${mx1},status="503"}`]: failed,
});

const ofInstance = {instance: 'mx1:9090'};
const ofTarget = {...ofInstance, job: 'mfd'};
const ofNode = {node: 'mx2'};

/** This one alert tells of all parts but two. */
const partDown = (part: string): AlertCase => ({
  at: '10m',
  fires: {[`mfd_dependency_problems{${mx1},part="${part}"}`]: '1x20'},
  silent: {
    [`mfd_dependency_problems{${mx1},part="${part}"}`]: '0x6 1x20',
    [`mfd_dependency_problems{${mx1},part="backend"}`]: '1x20',
    [`mfd_dependency_problems{${mx1},part="password_file"}`]: '1x20',
  },
  labels: {...ofInstance, job: 'mfd', part},
  summary: `something that mx1:9090 depends on does not work: ${part}`,
});

export const alertCases: Record<string, AlertCase | AlertCase[]> = {
  MfdDown: {
    at: '4m',
    fires: {[`up{${mx1}}`]: '1 0x10', 'up{job="other",instance="mx1:80"}': '0x10'},
    silent: {[`up{${mx1}}`]: '1 0 0 1x10', 'up{job="other",instance="mx1:80"}': '0x10'},
    labels: ofTarget,
    summary: 'mfd on mx1:9090 does not answer',
  },
  MfdNodeStale: {
    at: '5m',
    fires: health('0 0 1x10', '0x20'),
    silent: health('0 0 0 0 0 1x10', '0x20'),
    labels: ofNode,
    summary: 'node mx2 has not been heard from for more than a minute',
  },
  MfdNodeOffline: {
    at: '5m',
    fires: health('0x10', '0 0 1x10'),
    silent: health('1x10', '0x10'),
    labels: ofNode,
    summary: 'node mx2 is offline',
  },
  MfdRestarting: {
    at: '1h',
    fires: {[`process_start_time_seconds{${mx1}}`]: '100x20 1300x10 1900x10 2500x30'},
    silent: {[`process_start_time_seconds{${mx1}}`]: '100x20 1300x10 1900x40', 'process_start_time_seconds{job="x"}': '0+1x60'},
    labels: ofTarget,
    summary: 'mfd on mx1:9090 has been started 3 times within an hour',
  },
  MfdEventLoopBlocked: {
    at: '12m',
    fires: {[`nodejs_eventloop_lag_p99_seconds{${mx1}}`]: '1.5x20'},
    silent: {[`nodejs_eventloop_lag_p99_seconds{${mx1}}`]: '0.4x20'},
    labels: ofTarget,
    summary: 'mfd on mx1:9090 answers 1.5s late',
  },
  MfdFewFilesLeft: {
    at: '10m',
    fires: {[`process_open_fds{${mx1}}`]: '900x20', [`process_max_fds{${mx1}}`]: '1000x20'},
    silent: {[`process_open_fds{${mx1}}`]: '700x20', [`process_max_fds{${mx1}}`]: '1000x20'},
    labels: ofTarget,
    summary: 'mfd on mx1:9090 has 90% of its files and connections in use',
  },
  MfdVersionsDiffer: {
    at: '25h',
    fires: {[`mfd_build_info{${mx1},version="1"}`]: '1x1600', [`mfd_build_info{${mx2},version="2"}`]: '1x1600'},
    silent: {[`mfd_build_info{${mx1},version="1"}`]: '1x1600', [`mfd_build_info{${mx2},version="1"}`]: '1x1600'},
    labels: {},
    summary: '2 versions of mfd run in one cluster',
  },
  MfdConfigDrift: {
    at: '20m',
    fires: {[`mfd_cluster_config_drift{${mx1}}`]: '1x30', [`mfd_cluster_config_drift{${mx2}}`]: '0x30'},
    silent: {[`mfd_cluster_config_drift{${mx1}}`]: '1x9 0 1x20'},
    labels: {},
    summary: 'the nodes of the cluster have been configured differently for 10 minutes',
  },
  MfdOutboxRefused: {
    at: '5m',
    fires: {
      [`mfd_cluster_outbox_refused{${mx1},node="mx2"}`]: '0 1x10',
      [`mfd_cluster_outbox_refused{${mx2},node="mx2"}`]: '0x20',
    },
    silent: {
      [`mfd_cluster_outbox_refused{${mx1},node="mx2"}`]: '0 0 0 0 1x10',
      [`mfd_cluster_outbox_refused{${mx2},node="mx2"}`]: '0x20',
    },
    labels: ofNode,
    summary: 'changes made on node mx2 are refused by another node',
  },
  MfdReplicationBacklog: {
    at: '20m',
    fires: {[`mfd_cluster_node_outbox_backlog{${mx1},node="mx2"}`]: '250x30'},
    silent: {[`mfd_cluster_node_outbox_backlog{${mx1},node="mx2"}`]: '250x9 3 250x3 100x20'},
    labels: {...ofInstance, ...ofNode},
    summary: 'mx1:9090 has yet to apply 250 changes of node mx2',
  },
  MfdOutboxFilling: {
    at: '20m',
    fires: {[`mfd_outbox_events{${mx1}}`]: '60000x30'},
    silent: {[`mfd_outbox_events{${mx1}}`]: '40000x30'},
    labels: ofTarget,
    summary: 'mx1:9090 keeps 60000 changes for a node that is away',
  },
  MfdClockSkew: {
    at: '20m',
    fires: {[`mfd_cluster_clock_skew_seconds{${mx1},node="mx2"}`]: '-30x30'},
    silent: {[`mfd_cluster_clock_skew_seconds{${mx1},node="mx2"}`]: '-4x30'},
    labels: ofNode,
    summary: 'the clock of node mx2 is 30 seconds off',
  },
  MfdLicenceInvalid: {
    at: '10m',
    fires: {
      [`mfd_cluster_node_license_valid{${mx1},node="mx1"}`]: '1x20',
      [`mfd_cluster_node_license_valid{${mx1},node="mx2"}`]: '0x20',
    },
    silent: {[`mfd_cluster_node_license_valid{${mx1},node="mx2"}`]: '1x20'},
    labels: ofNode,
    summary: 'the licence of node mx2 is not valid',
  },
  MfdLicenceEnding: {
    at: '2h',
    fires: {[`mfd_cluster_node_license_expiry_timestamp_seconds{${mx1},node="mx2"}`]: `${2 * 3600 + 20 * 86_400}x150`},
    silent: {[`mfd_cluster_node_license_expiry_timestamp_seconds{${mx1},node="mx2"}`]: `${40 * 86_400}x150`},
    labels: ofNode,
    summary: 'the licence of node mx2 expires in 20d 0h 0m 0s',
  },
  MfdCertificateEnding: {
    at: '2h',
    fires: {[`mfd_certificate_expiry_timestamp_seconds{${mx1},listener="api"}`]: `${2 * 3600 + 5 * 86_400}x150`},
    silent: {[`mfd_certificate_expiry_timestamp_seconds{${mx1},listener="api"}`]: `${20 * 86_400}x150`},
    labels: {...ofTarget, listener: 'api'},
    summary: 'the api certificate of mx1:9090 expires in 5d 0h 0m 0s',
  },
  MfdDiskFull: {
    at: '5m',
    fires: {[`mfd_spool_has_room{${mx1}}`]: '1 0x10'},
    silent: {[`mfd_spool_has_room{${mx1}}`]: '0 0 1x10'},
    labels: ofTarget,
    summary: 'mx1:9090 refuses mail because its disk is nearly full',
  },
  MfdIntakeDeferred: {
    at: '30m',
    fires: verdicts('0+60x60', '0+20x60'),
    silent: verdicts('0+60x60', '0+3x60'),
    labels: ofInstance,
    summary: 'mx1:9090 defers 25% of all mail',
  },
  MfdScannerFailing: {
    at: '30m',
    fires: {[`mfd_scanner_failures_total{${mx1}}`]: '0+2x60'},
    silent: {[`mfd_scanner_failures_total{${mx1}}`]: '0x20 4x40'},
    labels: ofInstance,
    summary: 'the scanner of mx1:9090 gives no scores',
  },
  MfdMailRefused: {
    at: '5m',
    fires: {[`mfd_dependency_refuses_mail{${mx1}}`]: '1x10'},
    silent: {[`mfd_dependency_refuses_mail{${mx1}}`]: '0x4 1x0 0x6'},
    labels: {...ofInstance, job: 'mfd'},
    summary: 'mx1:9090 answers mail with 451: its scanner or its store does not work',
  },
  MfdDependencyDown: ['name_servers', 'digest', 'recipients_url'].map(partDown),
  MfdBackendUnreachable: {
    at: '10m',
    fires: {[`mfd_dependency_problems{${mx1},part="backend"}`]: '2x20'},
    silent: {
      [`mfd_dependency_problems{${mx1},part="backend"}`]: '0x6 1x20',
      [`mfd_dependency_problems{${mx1},part="scanner"}`]: '1x20',
    },
    labels: {...ofInstance, job: 'mfd', part: 'backend'},
    summary: 'backends of domains that cannot be reached from mx1:9090: 2',
  },
  MfdDmarcReportsGivenUp: {
    at: '5h',
    fires: {
      [`mfd_dmarc_reports_total{${mx1},outcome="given up"}`]: '0x100 6x300',
      [`mfd_dmarc_reports_total{${mx1},outcome="sent"}`]: '0x100 2x300',
    },
    // One foreign server that is away is no fault of this node.
    silent: {
      [`mfd_dmarc_reports_total{${mx1},outcome="given up"}`]: '0x100 6x300',
      [`mfd_dmarc_reports_total{${mx1},outcome="sent"}`]: '0+1x400',
    },
    labels: ofInstance,
    summary: 'mx1:9090 could not deliver 75% of its DMARC reports within 24 hours',
  },
  MfdDeliveriesFailing: {
    at: '30m',
    fires: deliveries('relay', '0+60x60', '0+20x60'),
    silent: {...deliveries('relay', '0x60', '0x20 2x60'), ...deliveries('release', '0x60', '0+20x60')},
    labels: ofInstance,
    summary: 'the backends defer 25% of the mail that mx1:9090 relays',
  },
  MfdReleasesFailing: {
    at: '50m',
    fires: deliveries('release', '0x60', '0+1x60'),
    silent: {...deliveries('release', '0+20x60', '0x30 2x30'), ...deliveries('relay', '0x60', '0+1x60')},
    labels: ofInstance,
    summary: 'mail that was released on mx1:9090 is not accepted by the backends',
  },
  MfdHeldSurge: {
    at: '26h',
    fires: {[`mfd_intake_verdicts_total{${mx1},verdict="held"}`]: '0+1x1499 1500+20x120'},
    silent: {[`mfd_intake_verdicts_total{${mx1},verdict="held"}`]: '0+1x1499 1500+4x120'},
    labels: ofInstance,
    summary: 'mx1:9090 has held 1.2k mails within an hour, far more than on the day before',
  },
  MfdNoMail: {
    at: '170h',
    fires: {[`mfd_intake_verdicts_total{${mx1},verdict="relayed"}`]: '0+1x9000 9000x1300'},
    silent: {[`mfd_intake_verdicts_total{${mx1},verdict="relayed"}`]: '0x10300'},
    labels: ofInstance,
    summary: 'no mail has come to mx1:9090 for an hour',
  },
  MfdPostfixQueueUnread: {
    at: '15m',
    fires: {[`mfd_postfix_reconciled_timestamp_seconds{${mx1}}`]: '60x30'},
    silent: {[`mfd_postfix_reconciled_timestamp_seconds{${mx1}}`]: '0+60x30'},
    labels: ofTarget,
    summary: 'mx1:9090 has not read the hold queue of Postfix for 14m 0s',
  },
  MfdPostfixReconcileFailing: {
    at: '30m',
    fires: {[`mfd_postfix_reconcile_failures_total{${mx1}}`]: '0+1x60'},
    silent: {[`mfd_postfix_reconcile_failures_total{${mx1}}`]: '0x20 2x40'},
    labels: ofTarget,
    summary: 'mx1:9090 often fails to read the hold queue of Postfix',
  },
  MfdEventLogShort: {
    at: '3h',
    fires: {[`mfd_events_surplus_total{${mx1}}`]: '0x10 500x200'},
    silent: {[`mfd_events_surplus_total{${mx1}}`]: '500x200'},
    labels: ofInstance,
    summary: 'the event log of mx1:9090 is full: entries go before their time',
  },
  MfdWebhookFailing: {
    at: '90m',
    fires: {[`mfd_webhooks_failing{${mx1}}`]: '0x10 2x100'},
    silent: {[`mfd_webhooks_failing{${mx1}}`]: '2x20 0x20 2x100'},
    labels: ofTarget,
    summary: 'the addresses of 2 webhooks have taken nothing from mx1:9090 for an hour',
  },
  MfdWebhookEventsGivenUp: {
    at: '3h',
    fires: {[`mfd_webhook_deliveries_total{${mx1},result="given_up"}`]: '0x10 4x200'},
    silent: {
      [`mfd_webhook_deliveries_total{${mx1},result="given_up"}`]: '4x200',
      [`mfd_webhook_deliveries_total{${mx1},result="failed"}`]: '0+1x200',
    },
    labels: ofInstance,
    summary: 'mx1:9090 has given up 4 events that webhooks did not take',
  },
  MfdApiFailing: {
    at: '30m',
    fires: requests('0+60x60', '0+20x60'),
    silent: requests('0+600x60', '0+20x60'),
    labels: ofInstance,
    summary: '25% of the requests to mx1:9090 fail',
  },
};
