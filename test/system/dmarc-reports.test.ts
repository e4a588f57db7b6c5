// Aggregate reports of a real node, with a name server and a smarthost of the test. A day passes by a change in the store.
import {createServer} from 'node:net';
import test, {type ExecutionContext} from 'ava';
import type {Lookup} from '../../daemon/mail/lookup.ts';
import {checkSignatures} from '../../daemon/mail/readers/check-signatures.ts';
import {startDnsZone, type Zone} from '../helpers/dns-zone.ts';
import {eventually} from '../helpers/eventually.ts';
import {listening} from '../helpers/listening.ts';
import {type MailNode, relayAll, startMailNode} from '../helpers/mail-node.ts';
import {runInStore} from '../helpers/node-store.ts';
import {reportXml} from '../helpers/report-mail.ts';
import {type SmtpSink, startSmtpSink} from '../helpers/smtp-sink.ts';

const zone: Zone = {
  'good.test': {TXT: ['v=spf1 ip4:127.0.0.1 -all']},
  '_dmarc.good.test': {TXT: ['v=DMARC1; p=reject; rua=mailto:dmarc@good.test']},
  'shop.test': {TXT: ['v=spf1 ip4:192.0.2.1 -all']},
  '_dmarc.shop.test': {TXT: ['v=DMARC1; p=none; rua=mailto:shop@reader.test,mailto:spy@victim.test']},
  'shop.test._report._dmarc.reader.test': {TXT: ['v=DMARC1']},
};

const reporting = {...relayAll, dmarc_reporting: true};

const start = async (t: ExecutionContext, options: {domain?: object; dmarc?: object; smarthost?: string; fqdn?: string} = {}) => {
  const {server} = await startDnsZone(t, zone);
  const smarthost = await startSmtpSink(t);
  const node = await startMailNode(t, {
    domain: {...reporting, ...options.domain},
    config: {
      ...(options.fqdn !== undefined && {fqdn: options.fqdn}),
      authentication: {dns_servers: [server], dns_timeout: 5},
      smtp: {trusted_networks: [], smarthost: options.smarthost ?? `${smarthost.server.host}:${smarthost.server.port}`},
      dmarc: {report_from: 'dmarc@example.org', organisation: 'Example & Sons', report_delay: 0, ...options.dmarc},
    },
  });
  return {node, smarthost};
};

const createReporting = async (node: MailNode) =>
  node.mfctl(['domain', 'create', 'b.test', '--backend', `127.0.0.1:${node.sink.server.port}`, '--dmarc-reporting']);

const raw = (from: string): string => `From: ${from}\r\nSubject: hello\r\n\r\nhello\r\n`;

/** Counts of today become those of a day that is over for every policy domain. */
const passDays = async (node: MailNode): Promise<void> => {
  await node.stop();
  await runInStore(node.data, "UPDATE dmarc_count SET day = '2026-03-01'");
  await node.start();
};

const reportIn = ({content}: SmtpSink['mails'][number]) => ({
  text: content.toString('latin1').replaceAll(/\r\n[ \t]+/g, ' '),
  xml: reportXml(content),
});

const countsIn = (xml: string): number[] => [...xml.matchAll(/<count>(\d+)<\/count>/g)].map(([, count]) => Number(count));

test('what was received for a domain is reported to the addresses that want it, on the day after', async t => {
  const {node, smarthost} = await start(t);
  for (const domain of ['good.test', 'good.test', 'shop.test']) await node.send(raw(`a@${domain}`), {from: `b@${domain}`});

  await passDays(node);
  // 30 s are left to the other nodes for their counts.
  const mails = await eventually(async () => smarthost.mails.length >= 2 && smarthost.mails, 60_000);
  const ofDay = async (domain: string) => node.api('GET', `dmarc/reports/2026-03-01/${domain}`);
  const previews = [await ofDay('GOOD.test'), await ofDay('none.test')];
  const summary = await node.mfctl(['dmarc', 'summary', 'example.com', '--since', '2026-03-01', '--json', 'count,passed']);
  const {stdout: printed} = await node.mfctl(['dmarc', 'reports']);
  await node.stop();

  const to = new Map(mails.map(mail => [mail.recipients.join(), reportIn(mail)]));
  t.deepEqual([...to.keys()].toSorted(), ['dmarc@good.test', 'shop@reader.test'], 'nobody asks for reports to victim.test');
  const good = to.get('dmarc@good.test');
  const id = /<report_id>(.*)<\/report_id>/.exec(good?.xml ?? '')?.[1] ?? '';
  t.regex(id, /^2026-03-01\.good\.test\.[0-9a-f]{8}@example\.org$/);
  t.true(good?.text.includes(`Subject: Report Domain: good.test Submitter: example.org Report-ID: <${id}>`), good?.text);
  t.regex(good?.text ?? '', /filename="?example\.org!good\.test!1772323200!1772409599![0-9a-f]{8}\.xml\.gz/);
  t.regex(good?.text ?? '', /^From: dmarc@example\.org$/m);
  t.deepEqual(countsIn(good?.xml ?? ''), [2]);
  t.regex(good?.xml ?? '', /<org_name>Example &amp; Sons<\/org_name>/);
  t.regex(good?.xml ?? '', /<disposition>pass<\/disposition>/);
  t.deepEqual(
    previews.map(({status}) => status),
    [200, 404],
  );
  t.is(previews[0]?.json.data.xml, good?.xml, 'it is what was sent');
  t.deepEqual(JSON.parse(summary.stdout), [{count: 3, passed: 2}]);
  t.regex(printed, /good\.test +sent +2 +dmarc@good\.test/);
  t.regex(printed, /shop\.test +sent +1 +shop@reader\.test, spy@victim\.test left out: its domain does not say/);
  const shop = to.get('shop@reader.test')?.xml ?? '';
  t.regex(
    shop,
    /<policy_evaluated>\s*<disposition>none<\/disposition>\s*<dkim>fail<\/dkim>\s*<spf>fail<\/spf>\s*<\/policy_evaluated>/,
  );
});

test('a report is signed by the domain that it comes from, when that is one here with a key', async t => {
  const {node, smarthost} = await start(t);
  const {id} = await node.createDomain({name: 'example.org', backend_servers: ['127.0.0.1:1'], dkim_active: true});
  const made = await node.api('POST', `domains/${id}/dkim-keys`, {body: {selector: 's1', algorithm: 'ed25519'}});
  await node.send(raw('a@good.test'), {from: 'b@good.test'});
  await passDays(node);
  const [mail] = await eventually(async () => smarthost.mails.length > 0 && smarthost.mails, 60_000);

  const lookup: Lookup = async name => (name === made.json.data.dns_name ? [[made.json.data.dns_record]] : []);
  const {dkim} = await checkSignatures(mail?.content ?? Buffer.alloc(0), lookup);

  t.deepEqual(dkim, [{result: 'pass', domain: 'example.org', selector: 's1'}]);
});

test('a server that takes a report and says nothing keeps no node from stopping', async t => {
  let connections = 0;
  const mute = createServer(socket => {
    connections += 1;
    socket.on('error', () => {}).resume();
  });
  const {node} = await start(t, {smarthost: `127.0.0.1:${await listening(t, mute)}`});
  await node.send(raw('a@good.test'), {from: 'b@good.test'});
  await passDays(node);
  await eventually(() => connections > 0, 60_000);

  await node.stop();

  const [report] = await runInStore(node.data, 'SELECT state, attempts FROM dmarc_report');
  t.deepEqual([report?.state, Number(report?.attempts)], ['waiting', 0], 'the next process sends it');
});

test('a count is in the store within a second, and mail that is none of ours, refused or about reports is not counted', async t => {
  const {node} = await start(t);
  await node.createDomain({name: 'quiet.test', backend_servers: ['127.0.0.1:1'], ...relayAll});
  await node.send(raw('a@good.test'), {from: 'b@good.test'});
  await node.send(raw('a@good.test'), {from: 'b@good.test', to: 'x@quiet.test'});
  await node.createDomain({name: 'example.org', backend_servers: [`127.0.0.1:${node.sink.server.port}`], ...reporting});
  await node.send(raw('a@good.test'), {from: 'b@good.test', to: 'DMARC@example.org'});

  await new Promise(resolve => setTimeout(resolve, 1000));
  await node.stop('SIGKILL');

  const rows = await runInStore(node.data, 'SELECT domain, policy_domain, count FROM dmarc_count');
  t.deepEqual(
    rows.map(({domain, policy_domain, count}) => [domain, policy_domain, Number(count)]),
    [['example.com', 'good.test', 1]],
  );
});

test('a domain can be set to send reports without configuration, and mfctl and cluster check say that localhost sends none', async t => {
  const {node} = await start(t, {domain: {dmarc_reporting: false}, dmarc: {report_from: undefined, organisation: undefined}});

  const updated = await node.api('PUT', `domains/${node.domainId}`, {body: {...relayAll, dmarc_reporting: true}});
  const created = await createReporting(node);
  const check = await node.mfctl(['cluster', 'check']);

  t.deepEqual([updated.status, created.code, check.code], [200, 0, 1]);
  t.regex(
    created.stderr,
    /^warning: no DMARC reports are sent by .*: set an fqdn with a dot, or dmarc\.report_from, in mfd\.yaml\n$/,
  );
  t.regex(check.stdout, /WARNING: .* cannot send the DMARC reports that domains want/);
});

test('reports come from the name of the node when nothing else is set', async t => {
  const dmarc = {report_from: undefined, organisation: undefined};
  const {node, smarthost} = await start(t, {dmarc, fqdn: 'MX1.example.org'});
  await node.send(raw('a@good.test'), {from: 'b@good.test'});
  const set = await createReporting(node);

  await passDays(node);
  const [mail] = await eventually(async () => smarthost.mails.length > 0 && smarthost.mails, 60_000);

  t.deepEqual([mail?.sender, set.stderr], ['dmarc-reports@mx1.example.org', '']);
});
