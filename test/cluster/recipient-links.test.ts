// Links for recipients, opened on any node of a cluster.
import test from 'ava';
import PostalMime from 'postal-mime';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import type {Owner} from '../helpers/daemon.ts';
import {eventually} from '../helpers/eventually.ts';
import {isOwnStore} from '../helpers/node-store.ts';
import {button, pageClient} from '../helpers/page.ts';
import {freePort} from '../helpers/ports.ts';

const url = 'https://mail.example.com';
const names = ['alpha', 'beta', 'gamma'];

/** Three nodes with pages, and a domain with digests. `opened`: the address of a link on another node. */
const start = async (t: Owner) => {
  const listens = new Map<string, string>();
  for (const name of names) listens.set(name, `127.0.0.1:${await freePort()}`);
  const cluster = await startCluster(t, {
    isProxied: false,
    config: {cluster: {heartbeat_interval: 1}},
    configOf: Object.fromEntries(names.map(name => [name, {recipients: {url, listen: listens.get(name)}}])),
  });
  const {alpha} = cluster.nodes;
  const domain = await alpha.createDomain();
  await alpha.api('PUT', `domains/${domain.id}/digest`, {body: {enabled: true}});
  await cluster.converged();
  const opened = (link: string, {node_id}: ClusterNode) => link.replace(url, `https://${listens.get(node_id)}`);
  return {...cluster, domain, page: pageClient(alpha.ca_file), opened};
};

/** The links of the digests so far, by the subject of their mail. */
const linksIn = async (mails: readonly {content: Buffer}[]): Promise<Map<string, string>> => {
  const links = new Map<string, string>();
  for (const {content} of mails) {
    const {text = ''} = await PostalMime.parse(content);
    for (const [, subject = '', link = ''] of text.matchAll(/^(.+)\n[^\n]+\n[^\n]+\n[^\n]+:\n(https:\S+)$/gm))
      links.set(subject, link);
  }
  return links;
};

test('a link works on any node, releases once, and while the node of the mail is away it says so', async t => {
  const {nodes, sink, domain, page, opened} = await start(t);
  const {alpha, beta, gamma} = nodes;
  for (const node of [alpha, beta, gamma]) await node.hold({to: `ann@${domain.name}`, subject: `held by ${node.node_id}`});
  t.is((await alpha.api('POST', `domains/${domain.id}/digest/send`)).json.data.sent, 1);
  const links = await linksIn(sink.mails);
  const linkOf = ({node_id}: ClusterNode) => links.get(`held by ${node_id}`) ?? '';
  t.is(links.size, 3);

  const pressed = await Promise.all([alpha, beta, gamma].map(async node => page(opened(linkOf(beta), node), button)));
  t.deepEqual(
    pressed.map(({status}) => status),
    [303, 303, 303],
  );
  t.is(sink.mails.length, 2, 'the digest, and the mail once');
  for (const node of [alpha, beta, gamma]) t.regex((await page(opened(linkOf(beta), node))).body, /was delivered to you on/);

  await gamma.stop('SIGKILL');
  const away = await page(opened(linkOf(gamma), alpha));
  if (!isOwnStore) t.is(away.status, 200);
  else {
    t.is(away.status, 503);
    t.regex(away.body, /cannot be reached now\. Nothing is lost: try again later/);
    t.is((await page(opened(linkOf(gamma), beta), button)).status, 503);
    await gamma.start();
  }
  const released = await eventually(async () => {
    const answer = await page(opened(linkOf(gamma), beta), button);
    return answer.status === 303 && answer;
  });
  t.is(released.status, 303);
  t.regex((await page(opened(linkOf(gamma), alpha))).body, /was delivered to you on/);
  t.is(sink.mails.length, 3);
});

test('a removed node opens no links, and those to its mail lead to none, or to the mail in the common store', async t => {
  const {nodes, sink, domain, page, opened, converged} = await start(t);
  const {alpha, gamma} = nodes;
  await gamma.hold({to: `ann@${domain.name}`, subject: 'held by gamma'});
  await alpha.api('POST', `domains/${domain.id}/digest/send`);
  const link = (await linksIn(sink.mails)).get('held by gamma') ?? '';
  t.is((await page(opened(link, gamma))).status, 200);

  t.is((await alpha.api('DELETE', `cluster/nodes/gamma${isOwnStore ? '?force=true' : ''}`)).status, 200);
  await eventually(async () => (await page(opened(link, gamma)).catch(() => ({status: 503}))).status === 503);
  await converged().catch(() => {});
  const {status} = await page(opened(link, alpha));
  t.is(status, isOwnStore ? 404 : 200);
});

test('another address on one node is a problem on each of them', async t => {
  const cluster = await startCluster(t, {
    isProxied: false,
    config: {cluster: {heartbeat_interval: 1}, recipients: {url: 'https://127.0.0.1:1'}},
    configOf: {beta: {recipients: {url: 'https://other.example.com'}}},
  });
  const {alpha} = cluster.nodes;
  const details = async (): Promise<string> => {
    const {peers} = (await alpha.api('GET', 'cluster/status')).json.data;
    return JSON.stringify(
      peers.flatMap(({node_id, problems = []}: {node_id: string; problems: {part: string; detail: string}[]}) =>
        problems.filter(({part}) => part === 'recipients_url').map(({detail}) => `${node_id}: ${detail}`),
      ),
    );
  };
  const onBeta = /beta: it is https:\/\/other\.example\.com here, and https:\/\/127\.0\.0\.1:1 on (alpha|gamma)/;
  const onAlpha = /alpha: it is https:\/\/127\.0\.0\.1:1 here, and https:\/\/other\.example\.com on beta/;
  const found = await eventually(async () => {
    const all = await details();
    return onBeta.test(all) && onAlpha.test(all) && all;
  }, 150_000);
  t.truthy(found);
});
