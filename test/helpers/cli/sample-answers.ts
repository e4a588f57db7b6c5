// Answers of the API, beside the records in sample-records.ts: one of every kind that a command prints.

import type {CreatedApiKey, Me} from '../../../shared/api-key.ts';
import type {AuditEntry} from '../../../shared/audit-entry.ts';
import type {ClusterDrift} from '../../../shared/cluster-drift.ts';
import type {ClusterNode} from '../../../shared/cluster-node.ts';
import type {ClusterStatus, Peer} from '../../../shared/cluster-status.ts';
import type {DkimKey} from '../../../shared/dkim-key.ts';
import type {DmarcReport, DmarcSummary} from '../../../shared/dmarc-report.ts';
import type {DnsRecord, DomainDns} from '../../../shared/domain-dns.ts';
import type {Summary} from '../../../shared/held-mail.ts';
import type {GlobalFilter, MailFilter} from '../../../shared/mail-filter.ts';
import type {ReportedSources} from '../../../shared/reported-source.ts';
import type {Webhook, WebhookDelivery, WebhookDetail} from '../../../shared/webhook.ts';
import {domain, hostile, key, mail, peer as peerOf} from './sample-records.ts';

const at = key.created_at;

export const me: Me = {...key, permissions: ['me:read', 'domains:read'], node_id: 'mx1'};

export const createdKey: CreatedApiKey = {
  id: 8,
  key_prefix: 'mfk_4Kx9vQ2a',
  name: 'script',
  scope: 'read-only',
  rate_limit_per_minute: 600,
  domain: null,
  domains: null,
  expires_at: null,
  key: 'mfk_4Kx9vQ2aAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
};

export const dmarcSummary: DmarcSummary = {
  domain: 'example.com',
  since: '2026-02-01',
  count: 1250,
  passed: 1200,
  source_count: 2,
  sources: [
    {source_ip: '192.0.2.5', count: 1200, spf_aligned: 1200, dkim_aligned: 900, passed: 1200, held: 0, rejected: 0},
    {source_ip: '2001:db8::7', count: 50, spf_aligned: 0, dkim_aligned: 0, passed: 0, held: 40, rejected: 3},
  ],
};

export const reportedSources: ReportedSources = {
  domain: 'example.com',
  since: '2026-02-01',
  report_count: 28,
  count: 1000,
  passed: 970,
  source_count: 2,
  reporters: [
    {reporter: 'google.example', verified: true, count: 830, passed: 800},
    {reporter: 'mail.example', verified: false, count: 170, passed: 170},
  ],
  sources: [
    {
      ...{source_ip: '192.0.2.5', name: 'mx1.example.com', network: '192.0.2.0/24', count: 970, passed: 970},
      ...{spf_passed: 970, spf_aligned: 970, dkim_passed: 900, dkim_aligned: 900},
      reporters: [
        {reporter: 'google.example', verified: true, count: 800},
        {reporter: 'mail.example', verified: false, count: 170},
      ],
    },
    {
      ...{source_ip: '2001:db8::7', name: null, network: '2001:db8:0:0::/64', count: 30, passed: 0},
      ...{spf_passed: 30, spf_aligned: 0, dkim_passed: 0, dkim_aligned: 0},
      reporters: [{reporter: 'google.example', verified: true, count: 30}],
    },
  ],
};

export const domainDns: DomainDns = {
  domain: 'example.com',
  records: [
    {
      ...{kind: 'mx', name: 'example.com', type: 'MX', values: ['10 mx1.example.net.', '10 mx2.example.net.'], state: null},
      ...{found: [], detail: ''},
    },
    {
      ...{kind: 'spf', name: 'example.com', type: 'TXT', values: ['v=spf1 mx -all'], state: null},
      ...{found: [], detail: ''},
    },
    {
      ...{kind: 'dkim', name: 'mfd2026._domainkey.example.com', type: 'TXT', values: [`v=DKIM1; k=rsa; p=${'A'.repeat(390)}`]},
      ...{state: null, found: [], detail: ''},
    },
  ],
  mta_sts_policy: 'version: STSv1\nmode: testing\nmx: mx1.example.net\nmax_age: 604800\n',
  advice: [],
};

const [mxRecord, spfRecord, dkimRecord] = domainDns.records as [DnsRecord, DnsRecord, DnsRecord];
export const checkedDns: DomainDns = {
  ...domainDns,
  records: [
    {...mxRecord, state: 'right', found: ['10 mx1.example.net.', '10 mx2.example.net.']},
    {
      ...spfRecord,
      state: 'differs',
      found: ['v=spf1 mx ?all'],
      detail: '?all says nothing about other senders; end with -all or ~all',
    },
    {...dkimRecord, state: 'missing'},
  ],
  advice: ['97 % of your mail passes DMARC (1000 mails since 2026-02-01); move from p=none to p=quarantine'],
};

export const dmarcReport: DmarcReport = {
  node_id: 'mx1',
  id: '2026-03-01.shop.example.0a1b2c3d@example.com',
  day: '2026-03-01',
  policy_domain: 'shop.example',
  state: 'sent',
  count: 1200,
  addresses: [
    {address: 'dmarc@shop.example', state: 'sent', detail: '250 2.0.0 Ok'},
    {address: 'old@shop.example', state: 'refused', detail: '550 5.1.1 No such user'},
  ],
  created_at: '2026-03-02T01:20:00.000Z',
  attempts: 1,
  next_at: null,
  ended_at: '2026-03-02T01:20:05.000Z',
};

export const filter: MailFilter = {
  id: 1_000_000_005,
  domain_id: domain.id,
  action: 'score',
  match: 'header',
  header: 'List-Id',
  pattern: '*news.example*',
  score: -3,
  comment: '=our newsletter',
  authenticated: true,
  created_at: at,
};

export const globalFilter: GlobalFilter = {
  id: 1_000_000_007,
  action: 'block',
  match: 'sender',
  header: null,
  pattern: 'a@b.example',
  score: null,
  comment: null,
  authenticated: false,
  created_at: at,
};

export const dkimKey: DkimKey = {
  id: 1_000_000_006,
  domain_id: domain.id,
  selector: 'mfd2026',
  algorithm: 'ed25519',
  dns_name: 'mfd2026._domainkey.example.com',
  dns_record: 'v=DKIM1; k=ed25519; p=MCowBQYDK2VwAyEA',
  created_at: at,
};

const peer: Peer = {...peerOf('mx1'), last_seen: at, config_hash_age_s: 601};

export const status: ClusterStatus = {
  local_node_id: 'mx1',
  local_hostname: 'mx1',
  peers: [
    peer,
    {
      ...peer,
      node_id: 'mx2',
      fqdn: 'mx2.example.com',
      api_url: 'https://mx2.example.com:8443',
      healthy: 'stale',
      clock_skew_s: -95.5,
    },
  ],
  generated_at: at,
};

export const drift: ClusterDrift = {
  local_node_id: 'mx1',
  config_hash: `sha256:${'1'.repeat(64)}`,
  nodes: [{node_id: 'mx2', config_hash: `sha256:${'2'.repeat(64)}`, differs_since: at, differing_records: 2}],
  records: [
    {
      node_id: 'mx2',
      kind: 'domain',
      id: domain.id,
      name: 'example.com',
      here: 'live',
      there: 'live',
      fields: [
        {name: 'quarantine_threshold', here: 6, there: 4.5},
        {name: 'backend_servers', here: ['a:25'], there: ['b:25']},
      ],
    },
    {node_id: 'mx2', kind: 'api_key', id: 2_000_000_003, name: hostile, here: 'live', there: 'deleted', fields: []},
  ],
  repairs: [{at, node_id: 'mx3', records: 1}],
  generated_at: at,
};

export const summary: Summary = {
  count: 1235,
  size_bytes: 5_242_980,
  oldest_arrived_at: mail.arrived_at,
  groups: [
    {
      domain: 'example.com',
      reason: 'spam',
      node_id: 'mx1',
      count: 1234,
      size_bytes: 5_242_880,
      oldest_arrived_at: mail.arrived_at,
    },
    {domain: 'example.org', reason: 'rbl', node_id: 'mx2', count: 1, size_bytes: 100, oldest_arrived_at: mail.arrived_at},
  ],
};

export const auditEntry: AuditEntry = {
  node_id: 'mx1',
  seq: 41,
  at,
  key_id: 7,
  key_name: 'monitoring',
  action: 'domain.update',
  target: 'example.com',
  remote_address: '192.0.2.1',
  result: 'ok',
  detail: 'reject_threshold: 15 → 12',
  hash: 'c'.repeat(64),
};

export const token = {
  token: 'mfj1_AQID',
  expires_at: '2026-03-01T10:30:00.000Z',
  address: 'mx1.example.com:8444',
  ca_fingerprint: `sha256:${'a'.repeat(64)}`,
};

export const clusterNode: ClusterNode = {
  node_id: 'mx2',
  node_no: 2,
  fqdn: 'mx2.example.com',
  joined_at: '2026-03-01T09:30:00.000Z',
  shares_store: false,
  keys: [key, {...key, id: 9, name: 'Example Ltd.', revoked_at: key.created_at}],
};

export const webhook: Webhook = {
  ...{
    id: 5,
    url: 'https://hooks.example.com/mail',
    events: ['held', 'released'],
    domain: 'example.com',
    description: 'to the chat',
  },
  ...{created_at: at, disabled_at: null, disabled_because: null},
};

export const webhookDetail: WebhookDetail = {
  ...webhook,
  progress: [
    {
      ...{
        node_id: 'mx1',
        delivered_at: '2026-03-01T09:30:00.000Z',
        failing_since: null,
        next_try_at: null,
        status: 200,
        error: null,
      },
      ...{waiting: 0, given_up: 2, missed_at: null},
    },
    {
      ...{node_id: 'mx2', delivered_at: null, failing_since: '2026-03-01T09:30:00.000Z', next_try_at: '2026-03-01T09:35:00.000Z'},
      ...{status: 503, error: 'it answered 503', waiting: 1, given_up: 0, missed_at: at},
    },
  ],
};

const delivery: WebhookDelivery = {
  ...{
    node_id: 'mx1',
    event_id: 'dxyz-mx1',
    event: 'held',
    mail_node_id: 'mx1',
    queue_id: 'aaaaaa',
    at,
    state: 'waiting',
    tries: 3,
  },
  ...{tried_at: '2026-03-01T09:30:00.000Z', next_try_at: '2026-03-01T10:00:00.000Z', status: 503, error: 'it answered 503'},
};

export const webhookDeliveries: WebhookDelivery[] = [
  delivery,
  {
    ...delivery,
    ...{event: 'refused', queue_id: null, state: 'given_up', next_try_at: null, status: null, error: hostile},
  },
];
