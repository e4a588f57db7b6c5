// Reports of others that three nodes receive, with kills in between.
import test from 'ava';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {startDnsZone} from '../helpers/dns-zone.ts';
import {eventually} from '../helpers/eventually.ts';
import {relayAll} from '../helpers/mail-node.ts';
import {isOwnStore} from '../helpers/node-store.ts';
import {reportMailOf} from '../helpers/received-report.ts';
import {sendMail} from '../helpers/smtp-client.ts';

const zone = {
  'receiver.test': {TXT: ['v=spf1 ip4:127.0.0.1 -all']},
  '_dmarc.receiver.test': {TXT: ['v=DMARC1; p=reject']},
};

test.serial('a report is counted once, whichever nodes it came to, and outlives them', async t => {
  const {server} = await startDnsZone(t, zone);
  const {nodes, sink} = await startCluster(t, {
    isProxied: false,
    config: {
      authentication: {dns_servers: [server], dns_timeout: 5},
      smtp: {trusted_networks: []},
      dmarc: {receive_at: ['dmarc@held.test']},
    },
  });
  const all = Object.values<ClusterNode>(nodes);
  const domain = await nodes.alpha.createDomain({name: 'held.test', ...relayAll});
  for (const node of all) await eventually(async () => node.domain(domain.id));
  const send = async ({smtpPort}: ClusterNode, id: string, from = 'noreply@receiver.test') => {
    const rows = [{ip: '192.0.2.1', count: 10, from: 'held.test'}];
    const raw = reportMailOf({id, rows}, {from, to: 'dmarc@held.test'}).toString('latin1');
    await sendMail({port: smtpPort, from, to: 'dmarc@held.test', raw});
  };
  const sources = async (node: ClusterNode, query = '') => {
    const {json, headers} = await node.api('GET', `dmarc/sources?domain=held.test${query}`);
    return {data: json.data, missing: headers['x-unreachable-nodes'] ?? ''};
  };

  for (const node of all) await send(node, 'twice');
  await send(nodes.beta, 'once');
  await send(nodes.gamma, 'forged', 'someone@elsewhere.test');
  for (const node of all) await node.stop('SIGKILL');
  await Promise.all(all.map(async node => node.start()));
  const answers = await eventually(async () => {
    const found = await Promise.all(all.map(async node => sources(node)));
    return found.every(({missing}) => missing === '') && found;
  }, 30_000);
  const verified = await sources(nodes.alpha, '&verified=true');
  await nodes.gamma.stop('SIGKILL');
  const without = await sources(nodes.alpha);

  for (const {data} of answers) {
    t.deepEqual([data.report_count, data.count, data.passed], [3, 30, 30]);
    t.like(data.sources, [{source_ip: '192.0.2.1', network: '192.0.2.0/24', count: 30}]);
    t.deepEqual(data.sources[0].reporters, [
      {reporter: 'receiver.test', verified: true, count: 20},
      {reporter: 'elsewhere.test', verified: false, count: 10},
    ]);
  }
  t.deepEqual([verified.data.report_count, verified.data.count], [2, 20]);
  t.is(without.data.count, isOwnStore ? 20 : 30, 'a node that is away has its reports with it, unless they share a store');
  t.deepEqual(sink.mails, [], 'no report went to a backend');
});
