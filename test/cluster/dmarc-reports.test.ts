// Reports of nodes, with a name server and a mail server of the test: with kills in between, and beside a node of an earlier version.
import test, {type ExecutionContext} from 'ava';
import {type ClusterNode, type ClusterOptions, startCluster, type ThreeNodes} from '../helpers/cluster.ts';
import {startDnsZone} from '../helpers/dns-zone.ts';
import {eventually} from '../helpers/eventually.ts';
import {relayAll} from '../helpers/mail-node.ts';
import {mfdFile} from '../helpers/node.ts';
import {isOwnStore, runInStore} from '../helpers/node-store.ts';
import {buildRelease, releaseMissing} from '../helpers/released-build.ts';
import {reportXml} from '../helpers/report-mail.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {type SmtpSink, startSmtpSink} from '../helpers/smtp-sink.ts';

const authors = Array.from({length: 8}, (_, n) => `bank${n}.test`);
const zone = Object.fromEntries(
  authors.flatMap(author => [
    [author, {TXT: ['v=spf1 ip4:127.0.0.1 -all']}],
    [`_dmarc.${author}`, {TXT: [`v=DMARC1; p=reject; rua=mailto:dmarc@${author}`]}],
  ]),
);

/** The mails that reports count, each report once, as a receiver does it. */
const reported = ({mails}: SmtpSink): Map<string, number> =>
  new Map(
    mails.map(({content}) => {
      const xml = reportXml(content);
      const counts = [...xml.matchAll(/<count>(\d+)<\/count>/g)].map(([, count]) => Number(count));
      return [/<report_id>(.*)<\/report_id>/.exec(xml)?.[1] ?? '', counts.reduce((sum, count) => sum + count, 0)];
    }),
  );

const totalOf = (sink: SmtpSink): number => [...reported(sink).values()].reduce((sum, count) => sum + count, 0);

/** Nodes that report at once, and send the reports to `smarthost`. */
const startReporting = async <Name extends string>(t: ExecutionContext, options: ClusterOptions<Name>) => {
  const {server} = await startDnsZone(t, zone);
  const smarthost = await startSmtpSink(t);
  const {nodes} = await startCluster(t, {
    ...options,
    isProxied: false,
    config: {
      authentication: {dns_servers: [server], dns_timeout: 5},
      smtp: {trusted_networks: [], smarthost: `127.0.0.1:${smarthost.server.port}`},
      dmarc: {report_from: 'dmarc@example.org', report_delay: 0},
    },
  });
  const all = Object.values<ClusterNode>(nodes);
  const [first] = all as [ClusterNode];
  const stores = (isOwnStore ? all : [first]).map(({data}) => data);
  const domain = await first.createDomain({name: 'held.test', dmarc_reporting: true, ...relayAll});
  for (const node of all) await eventually(async () => node.domain(domain.id));
  const inStores = async (sql: string) => (await Promise.all(stores.map(async data => runInStore(data, sql)))).flat();

  return {
    ...{nodes, all, smarthost, inStores},
    async send({smtpPort}: ClusterNode, count: number, author = 'bank0.test') {
      const raw = `From: a@${author}\r\nSubject: hello\r\n\r\nhello\r\n`;
      for (let n = 0; n < count; n += 1) await sendMail({port: smtpPort, from: `b@${author}`, to: 'x@held.test', raw});
    },
    /** Ends all nodes, as if everything had been counted on another day. */
    async endDay(signal?: 'SIGKILL') {
      for (const node of all) await node.stop(signal);
      await inStores("UPDATE dmarc_count SET day = '2026-03-01'");
    },
  };
};

test.serial('three nodes report once what they counted, whoever is killed in between', async t => {
  const {nodes, all, smarthost, inStores, send, endDay} = await startReporting<ThreeNodes>(t, {});
  const {alpha, beta, gamma} = nodes;
  await send(alpha, 2);
  await send(beta, 3);
  await send(gamma, 4);
  await eventually(async () => {
    const counted = await inStores('SELECT sum(count) AS count FROM dmarc_count');
    return counted.reduce((sum, {count}) => sum + Number(count), 0) === 9;
  });
  await endDay('SIGKILL');
  await Promise.all(all.map(async node => node.start()));
  await eventually(async () => totalOf(smarthost) >= 9, 90_000);
  for (const node of all) await node.stop('SIGKILL');
  // As if the reports had been sent, and the nodes had died before they wrote that down.
  await inStores(
    "UPDATE dmarc_report SET state = 'waiting', addresses = replace(addresses, '\"sent\"', '\"waiting\"'), ended_at = NULL",
  );
  const before = smarthost.mails.length;
  await Promise.all(all.map(async node => node.start()));
  await eventually(async () => smarthost.mails.length >= 2 * before, 90_000);

  t.deepEqual([...reported(smarthost).values()].toSorted(), isOwnStore ? [2, 3, 4] : [9]);
});

const former = {version: '0.8.1', commit: '048578852a749867e5ec6b45a664a0576025e3b9'};
const missing = releaseMissing(former);
const beside = missing === undefined ? test.serial : test.serial.skip;
if (missing !== undefined) test.serial.skip(`[${former.version}] ${missing}`, () => undefined);

beside(`a node beside one of ${former.version} reports what that gives to it, and both together each mail once`, async t => {
  const program = await buildRelease(t, former);
  const {nodes, all, smarthost, inStores, send, endDay} = await startReporting(t, {
    nodes: ['alpha', 'beta'],
    ...{program, maker: program},
  });
  const {alpha, beta} = nodes;
  for (const node of all) for (const author of authors) await send(node, 1, author);
  await endDay();
  alpha.runWith(mfdFile);

  // On one PostgreSQL the node of that version has to run before its tables are those of this version.
  for (const node of isOwnStore ? [alpha, beta] : [beta, alpha]) await node.start();
  const isOpen = "day = '2026-03-01' AND policy_domain <> '' AND report IS NULL AND NOT is_offered";
  const open = async () =>
    inStores(`SELECT id FROM dmarc_report WHERE state = 'waiting' UNION ALL SELECT digest FROM dmarc_count WHERE ${isOpen}`);
  await eventually(async () => (await open()).length === 0, 120_000);

  const [, given] = await inStores('SELECT count(*) AS count FROM dmarc_count WHERE holder <> origin AND is_confirmed');
  if (isOwnStore) t.true(Number(given?.count) > 0, 'the node of that version has given some');
  t.is(totalOf(smarthost), 16);
  t.is(reported(smarthost).size, smarthost.mails.length);
  await send(beta, 1);
  await eventually(async () => (await inStores("SELECT digest FROM dmarc_count WHERE day <> '2026-03-01'")).length === 1);
});
