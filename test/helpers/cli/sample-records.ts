// Records as in answers of the API.
import type {ApiKey} from '../../../shared/api-key.ts';
import type {ClusterEvent} from '../../../shared/cluster-event.ts';
import type {ClusterStatus, Peer} from '../../../shared/cluster-status.ts';
import type {Domain} from '../../../shared/domain.ts';
import {domainDefaults} from '../../../shared/field-rules.ts';
import type {ActionOutcome, HeldMail, HeldMailDetail} from '../../../shared/held-mail.ts';
import type {MailEvent} from '../../../shared/mail-event.ts';

export const domain: Domain = {
  id: 1_000_000_001,
  name: 'example.com',
  ...domainDefaults,
  backend_servers: ['mail.example.com:25', '[2001:db8::1]:25'],
  created_at: '2026-03-01T09:30:00.000Z',
  updated_at: '2026-03-01T09:30:00.000Z',
};

export const key: ApiKey = {
  id: 7,
  name: 'monitoring',
  key_prefix: 'mfk_3Jx9vQ2a',
  scope: 'read-only',
  rate_limit_per_minute: 6000,
  domain: null,
  domains: null,
  domain_ids: null,
  last_used_at: null,
  expires_at: null,
  revoked_at: null,
  created_at: '2026-03-01T09:30:00.000Z',
};

/** Sets a terminal title, reverses the order, hides text, starts a new line. */
export const hostile = 'Win\x1b]0;owned\x07 \u202egnp.exe\u200b\r\nmx1/zzzzzz  \x9b31m';

export const mail: HeldMail = {
  node_id: 'mx1',
  queue_id: 'aaaaaa',
  sender: '',
  from: ['ceo@bank.example', hostile],
  recipients: ['a@example.com', 'b@example.com'],
  subject: hostile,
  score: 12.5,
  symbols: ['X'],
  reason: 'spam',
  size_bytes: 2048,
  arrived_at: '2026-03-01T09:30:00.123Z',
  release_requested: false,
};

export const detail: HeldMailDetail = {
  ...mail,
  domain: 'example.com',
  direction: 'inbound',
  symbol_scores: [
    {name: 'LOW', score: 1},
    {name: 'HIGH', score: 11.5},
  ],
  client_ip: '192.0.2.1',
  helo: hostile,
  authentication: {
    spf: {result: 'softfail', domain: 'example.net'},
    dkim: [{result: 'pass', domain: 'example.org', selector: hostile}],
    dmarc: {result: 'fail', policy: 'quarantine', domain: 'example.net'},
    arc: {result: 'none'},
  },
  recipient_states: [
    {address: 'a@example.com', state: 'held', acted_at: null, acted_by: null, requested_at: null},
    {address: 'b@example.com', state: 'held', acted_at: null, acted_by: null, requested_at: null},
  ],
};

/** An entry of the event log, about a mail that was passed on. */
export const mailEvent: MailEvent = {
  id: 'hojyjfafw0-mx1',
  at: '2026-03-01T09:30:00.123Z',
  node_id: 'mx1',
  queue_id: 'aaaaaa',
  event: 'relayed',
  direction: 'inbound',
  domain: 'example.com',
  sender: 'news@example.net',
  recipients: ['a@example.com', 'b@example.com'],
  recipient_count: 2,
  from: ['ceo@bank.example'],
  subject: hostile,
  message_id: '4711@news.example',
  client: {ip: '192.0.2.1', name: 'out.example.net', helo: hostile, tls: true},
  size_bytes: 2048,
  score: 1.5,
  reason: null,
  symbols: ['LOW'],
  authentication: {
    spf: {result: 'pass', domain: 'example.net'},
    dkim: [],
    dmarc: {result: 'none', policy: null, domain: 'bank.example'},
    arc: {result: 'none'},
  },
  reply: `250 2.0.0 Ok ${hostile}`,
  server: 'mail.example.com:25',
  took_ms: 120,
  key_id: null,
  key_name: null,
  detail: '',
  recipients_left: null,
};

export const outcome = (queue_id: string): ActionOutcome => ({
  node_id: 'mx1',
  queue_id,
  state: 'released',
  acted_at: '2026-03-01T10:00:00.000Z',
  acted_by_key_id: 7,
  already: false,
});

export const heldEvent: ClusterEvent = {type: 'held', at: '2026-03-01T09:30:01.000Z', ...mail};

export const releasedEvent: ClusterEvent = {type: 'released', at: '2026-03-01T10:00:01.000Z', ...outcome('aaaaaa')};

export const discardedEvent: ClusterEvent = {
  ...outcome('bbbbbb'),
  type: 'discarded',
  at: '2026-03-01T10:00:02.000Z',
  state: 'discarded',
};

export const healthEvent: ClusterEvent = {
  type: 'health',
  at: '2026-03-01T11:00:00.000Z',
  node_id: 'mx2',
  from: 'online',
  to: 'stale',
};

export const peer = (node_id: string): Peer => ({
  node_id,
  fqdn: `${node_id}.example.com`,
  api_url: `https://${node_id}.example.com:8443`,
  last_seen: '2026-03-01T09:29:55.000Z',
  healthy: 'online',
  config_hash: `sha256:${'a'.repeat(64)}`,
  config_hash_age_s: 86_400,
  outbox_backlog_to_us: 0,
  license: {valid: true, type: 'community', status: 'active', expires_at: '9999-12-31T23:59:59Z'},
  unanswered_since: null,
  unreachable_from: [],
  config_differs_since: null,
  clock_skew_s: 0,
  outbox_refused: false,
  cut_off_since: null,
  has_authority: true,
  dmarc_config: 'c0ffee',
  dmarc_unset: false,
});

export const clusterStatus = (peers: Peer[]): ClusterStatus => ({
  local_node_id: 'mx1',
  local_hostname: 'mx1.example.com',
  peers,
  generated_at: '2026-03-01T09:30:00.000Z',
});
