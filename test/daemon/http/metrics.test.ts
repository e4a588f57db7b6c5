import {setImmediate} from 'node:timers/promises';
import test from 'ava';
import {createMetrics, type MetricsSource} from '../../../daemon/http/metrics.ts';
import type {Health} from '../../../shared/health.ts';

const sourceWith = (healthy: Health): MetricsSource => ({
  clusterStatus: async () => ({
    local_node_id: 'alpha',
    local_hostname: 'alpha',
    generated_at: '2026-03-01T12:00:00.000Z',
    peers: [
      {
        node_id: 'beta',
        fqdn: 'beta.test',
        api_url: '',
        last_seen: '2026-03-01T12:00:00.000Z',
        healthy,
        config_hash: '',
        config_hash_age_s: 0,
        outbox_backlog_to_us: 0,
        license: {valid: true, type: 'community', status: 'active', expires_at: '9999-12-31T23:59:59.000Z'},
        unanswered_since: null,
        unreachable_from: [],
        config_differs_since: null,
        clock_skew_s: 0,
        outbox_refused: false,
        cut_off_since: null,
        has_authority: true,
        dmarc_config: null,
        dmarc_unset: false,
      },
    ],
  }),
  held: async () => [],
  outboxDepth: async () => 0,
  clockSkews: () => ({}),
  hasSpace: () => true,
  certificates: () => ({}),
});

test('changes of health are counted when they happen, however often anybody looks', async t => {
  const metrics = createMetrics('1.0.0');
  const transitions = async (healthy: Health) =>
    /^mfd_cluster_health_transitions_total (\d+)$/m.exec((await metrics.expose(sourceWith(healthy))).text)?.[1];

  t.is(await transitions('online'), '0');
  // Between two reads of the metrics: stale, and back.
  metrics.healthChanged();
  metrics.healthChanged();

  t.is(await transitions('online'), '2');
  t.is(await transitions('stale'), '2');
});

test('a metric that cannot be counted fails nobody, and is told', async t => {
  const failures: unknown[] = [];
  const metrics = createMetrics('1.0.0', error => void failures.push(error));
  // prom-client takes it for a label that it does not know.
  Object.defineProperty(Object.prototype, 'unknown_label', {value: 'x', enumerable: true, configurable: true});

  try {
    metrics.verdict('relayed');
    metrics.delivery('release', 'delivered');
    metrics.httpRequest({method: 'GET', route: '/', status: 200, seconds: 0.1});
  } finally {
    Reflect.deleteProperty(Object.prototype, 'unknown_label');
  }
  await setImmediate();
  metrics.verdict('relayed');

  t.is(failures.length, 3);
  t.regex((await metrics.expose(sourceWith('online'))).text, /^mfd_intake_verdicts_total\{verdict="relayed"\} 1$/m);
});
