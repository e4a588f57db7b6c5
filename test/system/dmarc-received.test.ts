// Reports of others that a real node receives, with a name server of the test.
import test, {type ExecutionContext} from 'ava';
import {startDnsZone} from '../helpers/dns-zone.ts';
import {eventually} from '../helpers/eventually.ts';
import {relayAll, startMailNode} from '../helpers/mail-node.ts';
import {addToConfig} from '../helpers/node.ts';
import {runInStore} from '../helpers/node-store.ts';
import {mailWith, reportMailOf} from '../helpers/received-report.ts';

const zone = {
  'receiver.test': {TXT: ['v=spf1 ip4:127.0.0.1 -all']},
  '_dmarc.receiver.test': {TXT: ['v=DMARC1; p=reject']},
  'google.test': {TXT: ['v=spf1 -all']},
  '_dmarc.google.test': {TXT: ['v=DMARC1; p=reject']},
  '1.2.0.192.in-addr.arpa': {PTR: ['mail.sender.test']},
  '_dmarc.example.com': {TXT: ['v=DMARC1; p=none; rua=mailto:dmarc@example.com']},
  'mail.sender.test': {A: ['192.0.2.1']},
};

const start = async (t: ExecutionContext, config: object = {}) => {
  const {server} = await startDnsZone(t, zone);
  const node = await startMailNode(t, {
    domain: {...relayAll, quarantine_threshold: 5},
    config: {
      authentication: {dns_servers: [server], dns_timeout: 5},
      smtp: {trusted_networks: []},
      dmarc: {receive_at: ['dmarc@example.com']},
      ...config,
    },
  });
  const send = async (mail: Buffer, from = 'noreply@receiver.test') =>
    node.send(mail.toString('latin1'), {from, to: 'dmarc@example.com'});
  return {node, send};
};

test('who sends as a domain is listed with who says so, and is still known after a kill', async t => {
  const {node, send} = await start(t);
  const rows = [
    {ip: '192.0.2.1', count: 97},
    {ip: '203.0.113.9', count: 3, spf: 'fail', dkim: 'fail', spfResult: 'pass'} as const,
  ];

  await send(reportMailOf({rows}));
  await node.stop('SIGKILL');
  await node.start();
  await send(reportMailOf({rows}));
  await send(reportMailOf({id: 'x', rows: [{ip: '203.0.113.9', count: 1}]}, {from: 'a@unknown.test'}), 'a@unknown.test');
  const table = await node.mfctl(['dmarc', 'sources', 'example.com']);
  const csv = await node.mfctl(['dmarc', 'sources', 'example.com', '--verified', '-o', 'csv']);
  const json = await node.mfctl(['dmarc', 'sources', 'example.com', '--since', '2026-01-01', '-o', 'json']);

  t.regex(
    table.stdout,
    /^192\.0\.2\.1 +mail\.sender\.test +192\.0\.2\.0\/24 +97 +100 % +100 % +100 % +100 % +100 % +receiver\.test$/m,
  );
  t.regex(
    table.stdout,
    /^203\.0\.113\.9 +- +\S+ +4 +25 % +100 % +25 % +25 % +25 % +receiver\.test, unknown\.test \(not verified\)$/m,
  );
  t.regex(table.stderr, /101 mails since \S+ in 2 reports, 98 pass DMARC/);
  t.regex(csv.stdout, /^203\.0\.113\.9,,203\.0\.113\.0\/24,3,0,3,0,0,0,/m);
  t.is(JSON.parse(json.stdout).length, 2);
  t.deepEqual(node.sink.mails, [], 'no report went to the backend');
});

test('what is no report, and what is forged, is held as mail', async t => {
  const {node, send} = await start(t);

  await send(mailWith(Buffer.from('<!DOCTYPE x [<!ENTITY a "b">]><feedback>&a;</feedback>'), {type: 'text/xml'}));
  await send(reportMailOf({rows: [{ip: '192.0.2.1', from: 'bank.test'}]}));
  await send(reportMailOf({}, {from: 'noreply@google.test'}), 'noreply@google.test');
  const held = await eventually(async () => {
    const {json} = await node.api('GET', 'mail/quarantine');
    return json.data.length === 3 && json.data;
  });
  const {json} = await node.api('GET', 'dmarc/sources?domain=example.com');
  const symbolsOf = async ({node_id, queue_id}: {node_id: string; queue_id: string}) =>
    (await node.api('GET', `mail/quarantine/${node_id}/${queue_id}`)).json.data.symbols;
  const symbols = await Promise.all(held.map(symbolsOf));

  t.deepEqual(
    held.map(({reason}: {reason: string}) => reason),
    ['phishing', 'spam', 'spam'],
  );
  t.deepEqual(
    symbols.map(names => names.includes('DMARC_REPORT_NOT_READ')),
    [false, true, true],
  );
  t.is(json.data.count, 0);
});

test('without dmarc.receive_at a report is mail like any other', async t => {
  const {node, send} = await start(t, {dmarc: {}});

  await send(reportMailOf());

  t.is(node.sink.mails.length, 1);
  t.is((await node.api('GET', 'dmarc/sources?domain=example.com')).json.data.count, 0);
});

test('settings of DMARC and of the name servers apply from the next SIGHUP on', async t => {
  const {server} = await startDnsZone(t, zone);
  const {node, send} = await start(t, {dmarc: {}, authentication: {dns_servers: ['127.0.0.1:9'], dns_timeout: 1}});
  const reload = async (config: Record<string, object>) => {
    const before = node.log().length;
    await addToConfig(node.data, config);
    node.signal('SIGHUP');
    await eventually(() => /configuration and certificates reread/.test(node.log().slice(before)));
  };
  const preview = async () => node.mfctl(['dmarc', 'report', '--policy-domain', 'a.test', '--date', '2026-03-01', '--dry-run']);
  const state = async () => (await node.api('GET', 'cluster/status')).json.data.peers[0].dmarc_unset;
  await node.updateDomain(node.domainId, {dmarc_reporting: true});

  await send(reportMailOf());
  const [isUnset, refused] = [await state(), await preview()];
  await reload({
    dmarc: {receive_at: ['dmarc@example.com'], report_from: 'dmarc@example.com'},
    authentication: {dns_servers: [server], dns_timeout: 5},
  });
  await send(reportMailOf());
  const {json} = await node.api('GET', 'dmarc/sources?domain=example.com');

  t.is(node.sink.mails.length, 1, 'the report that came before');
  t.regex(refused.stderr, /sends no DMARC reports/);
  t.regex((await preview()).stderr, /nothing of a\.test was received/);
  t.deepEqual([isUnset, await state()], [true, false]);
  t.is(json.data.report_count, 1);
  t.true(json.data.sources[0].reporters[0].verified, 'the new name server was asked');
  t.notRegex(node.log(), /take effect at the next start/);
  await reload({dmarc: {receive_at: []}});
  await send(reportMailOf());
  t.is(node.sink.mails.length, 2);
});

test('what this cluster reports about its own domain is read here, and goes to no server', async t => {
  const {node} = await start(t, {
    dmarc: {receive_at: ['dmarc@example.com'], report_from: 'dmarc@example.com', report_delay: 0},
  });
  await node.updateDomain(node.domainId, {dmarc_reporting: true, quarantine_threshold: 100});
  await node.send('From: ben@example.com\r\nSubject: forged\r\n\r\nhello\r\n', {from: 'ben@example.com'});
  await node.stop();
  await runInStore(node.data, "UPDATE dmarc_count SET day = '2026-03-01'");
  await node.start();

  // 30 s are left to the other nodes for their counts.
  const {data} = await eventually(async () => {
    const {json} = await node.api('GET', 'dmarc/sources?domain=example.com&since=2026-03-01T00:00:00Z');
    return json.data.count > 0 && json;
  }, 60_000);
  const {stdout: reports} = await node.mfctl(['dmarc', 'reports']);

  t.like(data, {report_count: 1, count: 1, passed: 0});
  t.deepEqual(data.sources[0].reporters, [{reporter: 'example.com', verified: true, count: 1}]);
  t.regex(reports, /example\.com +sent +1 +dmarc@example\.com/);
  t.is(node.sink.mails.length, 1, 'the forged mail alone');
});
