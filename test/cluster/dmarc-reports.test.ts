// One report of three nodes, with a name server and a mail server of the test, and kills in between.
import test from 'ava';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {startDnsZone} from '../helpers/dns-zone.ts';
import {eventually} from '../helpers/eventually.ts';
import {relayAll} from '../helpers/mail-node.ts';
import {isOwnStore, runInStore} from '../helpers/node-store.ts';
import {reportXml} from '../helpers/report-mail.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {type SmtpSink, startSmtpSink} from '../helpers/smtp-sink.ts';

const zone = {
  'bank.test': {TXT: ['v=spf1 ip4:127.0.0.1 -all']},
  '_dmarc.bank.test': {TXT: ['v=DMARC1; p=reject; rua=mailto:dmarc@bank.test']},
};

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

test.serial('three nodes report once what all of them counted, whoever is killed in between', async t => {
  const {server} = await startDnsZone(t, zone);
  const smarthost = await startSmtpSink(t);
  const {nodes} = await startCluster(t, {
    isProxied: false,
    config: {
      authentication: {dns_servers: [server], dns_timeout: 5},
      smtp: {trusted_networks: [], smarthost: `127.0.0.1:${smarthost.server.port}`},
      dmarc: {report_from: 'dmarc@example.org', report_delay: 0},
    },
  });
  const all = Object.values<ClusterNode>(nodes);
  const stores = isOwnStore ? all : [nodes.alpha];
  const domain = await nodes.alpha.createDomain({name: 'held.test', dmarc_reporting: true, ...relayAll});
  for (const node of all) await eventually(async () => node.domain(domain.id));
  const raw = 'From: a@bank.test\r\nSubject: hello\r\n\r\nhello\r\n';
  const send = async ({smtpPort}: ClusterNode, count: number) => {
    for (let n = 0; n < count; n += 1) await sendMail({port: smtpPort, from: 'b@bank.test', to: 'x@held.test', raw});
  };

  await send(nodes.alpha, 2);
  await send(nodes.beta, 3);
  await send(nodes.gamma, 4);
  await new Promise(resolve => setTimeout(resolve, 1000));
  for (const node of all) await node.stop('SIGKILL');
  const counted = [];
  for (const {data} of stores) counted.push(...(await runInStore(data, 'SELECT sum(count) AS count FROM dmarc_count')));
  for (const {data} of stores) await runInStore(data, "UPDATE dmarc_count SET day = '2026-03-01'");
  await Promise.all(all.map(async node => node.start()));
  await eventually(async () => smarthost.mails.length > 0, 90_000);
  for (const node of all) await node.stop('SIGKILL');
  // As if the report had been sent, and the node had died before it wrote that down.
  for (const {data} of stores)
    await runInStore(
      data,
      "UPDATE dmarc_report SET state = 'waiting', addresses = replace(addresses, '\"sent\"', '\"waiting\"'), ended_at = NULL",
    );
  const before = smarthost.mails.length;
  await Promise.all(all.map(async node => node.start()));
  await eventually(async () => smarthost.mails.length > before, 90_000);

  t.is(
    counted.reduce((sum, {count}) => sum + Number(count), 0),
    9,
  );
  t.deepEqual([...reported(smarthost).values()], [9]);
  t.is(totalOf(smarthost), 9);
});
