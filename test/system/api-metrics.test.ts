import test from 'ava';
import {hasPromtool, promtool} from '../helpers/promtool.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode();

const ask = async (path: string, method = 'GET') => {
  const response = await fetch(new URL(path, node().metrics_url), {method});
  return {status: response.status, headers: response.headers, text: await response.text()};
};

/** Value by `name{labels}`, labels in alphabetical order. */
const scrape = async (): Promise<Map<string, number>> => {
  const {text} = await ask('/metrics');
  const samples = text.split('\n').filter(line => line !== '' && !line.startsWith('#'));
  return new Map(
    samples.map(line => {
      const [, name = '', , labels = '', value] = /^(\w+)(\{(.*)\})? (\S+)$/.exec(line) ?? [];
      return [labels === '' ? name : `${name}{${labels.split(',').sort().join(',')}}`, Number(value)];
    }),
  );
};

test('every figure of the cluster status is exposed', async t => {
  const {json} = await node().api('GET', 'cluster/status');
  const metrics = await scrape();

  const [peer] = json.data.peers;
  const of = `{node="${peer.node_id}"}`;
  for (const health of ['online', 'stale', 'offline']) {
    t.is(metrics.get(`mfd_cluster_node_health{health="${health}",node="${peer.node_id}"}`), Number(health === peer.healthy));
    t.is(metrics.get(`mfd_cluster_nodes{health="${health}"}`), Number(health === peer.healthy));
  }
  t.true(Math.abs((metrics.get(`mfd_cluster_node_last_seen_timestamp_seconds${of}`) ?? 0) - Date.now() / 1000) < 30);
  t.true(Math.abs((metrics.get(`mfd_cluster_node_config_hash_age_seconds${of}`) ?? -99) - peer.config_hash_age_s) < 30);
  t.is(metrics.get(`mfd_cluster_node_outbox_backlog${of}`), 0);
  t.is(metrics.get(`mfd_cluster_node_license_valid${of}`), 1);
  t.is(metrics.get(`mfd_cluster_node_license_expiry_timestamp_seconds${of}`), Date.parse(peer.license.expires_at) / 1000);
  t.is(metrics.get('mfd_cluster_config_drift'), 0);
  t.is(metrics.get('mfd_cluster_health_transitions_total'), 0);
  t.true(metrics.has('mfd_outbox_events'));
  for (const listener of ['api', 'cluster'])
    t.true((metrics.get(`mfd_certificate_expiry_timestamp_seconds{listener="${listener}"}`) ?? 0) > Date.now() / 1000);
});

test('mail that comes, is held, released and refused is counted, and no name of it is in a label', async t => {
  const before = await scrape();
  const {name} = await node().createDomain();
  const send = async (score: number) =>
    sendMail({
      port: node().smtpPort,
      from: 'secret-sender@outside.test',
      to: `secret-rcpt@${name}`,
      raw: `Subject: secret-subject\r\nX-Spam-Score: ${score}\r\n\r\nx\r\n`,
    });
  await send(0);
  await send(99);
  const kept = await node().hold({to: `secret-rcpt@${name}`, from: 'secret-sender@outside.test', subject: 'secret-subject'});
  const gone = await node().hold({to: `secret-rcpt@${name}`});
  await node().api('POST', `mail/quarantine/${gone.node_id}/${gone.queue_id}/release`);
  await node().api('GET', `mail/quarantine/${kept.node_id}/${kept.queue_id}/body`);
  await node().api('GET', `nothing/${kept.queue_id}`);

  const {text} = await ask('/metrics');
  const after = await scrape();
  const grown = (sample: string) => (after.get(sample) ?? 0) - (before.get(sample) ?? 0);
  t.is(grown('mfd_intake_verdicts_total{verdict="relayed"}'), 1);
  t.is(grown('mfd_intake_verdicts_total{verdict="rejected"}'), 1);
  t.is(grown('mfd_intake_verdicts_total{verdict="held"}'), 2);
  t.is(grown('mfd_deliveries_total{kind="release",outcome="delivered"}'), 1);
  t.is(grown('mfd_held_mails{reason="spam"}'), 1);
  const {size_bytes} = (await node().api('GET', `mail/quarantine?domain=${name}`)).json.data[0];
  t.is(grown('mfd_held_bytes{reason="spam"}'), size_bytes);
  for (const reason of ['phishing', 'sandbox', 'rbl']) t.is(after.get(`mfd_held_mails{reason="${reason}"}`), 0);
  t.is(
    grown(
      'mfd_http_request_duration_seconds_count{method="GET",route="/api/v1/mail/quarantine/:node_id/:queue_id/body",status="200"}',
    ),
    1,
  );
  for (const secret of ['secret', name, kept.queue_id, gone.queue_id, '127.0.0.1', '@']) t.false(text.includes(secret), secret);
});

(hasPromtool ? test : test.skip)('promtool has nothing to say against the metrics (needs promtool)', async t => {
  const {text, headers} = await ask('/metrics');
  t.regex(String(headers.get('content-type')), /^text\/plain; version=0\.0\.4/);

  t.is(await promtool(text), '');
});

test('only what is served is there, and it is only read', async t => {
  t.like(await ask('/healthz'), {status: 200, text: 'ok\n'});
  t.like(await ask('/readyz'), {status: 200, text: 'ready\n'});
  for (const path of ['/', '/metrics/', '/api/v1/auth/me', '/__proto__', '/toString', '/%zz'])
    t.is((await ask(path)).status, 404, path);
  for (const path of ['/metrics', '/healthz', '/readyz']) {
    const refused = await ask(path, 'POST');
    t.is(refused.status, 405);
    t.is(refused.headers.get('allow'), 'GET, HEAD');
    t.is((await ask(path, 'HEAD')).status, 200);
  }
});
