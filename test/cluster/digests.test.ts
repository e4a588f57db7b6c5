// Digests of a cluster: one node sends, about the mail of all.
import test from 'ava';
import PostalMime from 'postal-mime';
import {type ClusterNode, type ClusterOptions, startCluster, type ThreeNodes} from '../helpers/cluster.ts';
import type {Owner} from '../helpers/daemon.ts';
import {eventually} from '../helpers/eventually.ts';
import {testOwnStore} from '../helpers/test-own-store.ts';

const url = 'https://mail.example.com';
const config = {recipients: {url}, cluster: {heartbeat_interval: 1}};

const start = async (t: Owner, options: ClusterOptions<ThreeNodes> = {}) => {
  const cluster = await startCluster(t, {isProxied: false, config, ...options});
  const domain = await cluster.nodes.alpha.createDomain();
  await cluster.converged();
  return {...cluster, domain};
};

/** Switches digests on, due at the next full minute that is at least ten seconds away. */
const enable = async (node: ClusterNode, id: number): Promise<Date> => {
  const due = new Date(Math.ceil((Date.now() + 10_000) / 60_000) * 60_000);
  const {status} = await node.api('PUT', `domains/${id}/digest`, {body: {enabled: true, at: due.toISOString().slice(11, 16)}});
  if (status !== 200) throw new Error(`PUT digest: ${status}`);
  return due;
};

const sentBy = async ({metrics_url}: ClusterNode): Promise<number> =>
  Number(/^mfd_digests_total\{outcome="sent"\} (\d+)/m.exec(await (await fetch(`${metrics_url}/metrics`)).text())?.[1]);

const textOf = async (content: Buffer): Promise<string> => (await PostalMime.parse(content)).text ?? '';
const idOf = async (content: Buffer): Promise<string> => (await PostalMime.parse(content)).messageId ?? '';

test('when it is due a recipient gets one digest about the mail of all nodes, and none after a restart', async t => {
  const {nodes, sink, domain, converged} = await start(t);
  const {alpha, beta, gamma} = nodes;
  const to = `ann@${domain.name}`;
  for (const node of [alpha, beta, gamma]) await node.hold({to, subject: `at ${node.node_id}`});
  await enable(gamma, domain.id);
  await converged();
  await eventually(async () => (await alpha.status()).peers.every(({outbox_refused}) => !outbox_refused));

  await eventually(() => sink.mails.length > 0, 90_000);
  // At once: a node that is away while it is to be told is told by the sender before that one stops.
  for (const node of [alpha, beta, gamma]) {
    await node.stop();
    await node.start();
  }
  await converged();
  await new Promise(resolve => setTimeout(resolve, 20_000));

  t.is(sink.mails.length, 1);
  const text = await textOf(sink.mails[0]?.content ?? Buffer.alloc(0));
  for (const {node_id} of [alpha, beta, gamma]) t.true(text.includes(`at ${node_id}`), text);
});

test('the sending node is killed and another one goes on: each gets a digest, and a second copy has the same id', async t => {
  const {nodes, sink, domain, converged} = await start(t);
  const {alpha, beta, gamma} = nodes;
  const all = [alpha, beta, gamma];
  const recipients = Array.from({length: 60}, (_, n) => `r${n}@${domain.name}`);
  for (const node of all) await node.hold({to: recipients, subject: `at ${node.node_id}`});
  await enable(alpha, domain.id);
  await converged();
  sink.behave({delayMs: 300});

  await eventually(() => sink.mails.length > 0, 90_000);
  const sending = await eventually(async () => {
    const counts = await Promise.all(all.map(sentBy));
    return all[counts.findIndex(count => count > 0)];
  });
  await sending.stop('SIGKILL');
  const copies = async () => {
    const ids = new Map<string, Set<string>>();
    for (const {
      recipients: [to = ''],
      content,
    } of sink.mails)
      ids.set(to, (ids.get(to) ?? new Set()).add(await idOf(content)));
    return ids;
  };
  const ids = await eventually(async () => {
    const found = await copies();
    return found.size === recipients.length && found;
  }, 150_000);

  for (const [, of] of ids) t.is(of.size, 1);
  t.true(sink.mails.length <= 2 * recipients.length);
});

// With one PostgreSQL any node lists all mail.
testOwnStore(
  'in a cluster that is cut in two each side sends about its own mail, and nothing is listed twice after that',
  async t => {
    const {nodes, sink, domain, converged, partition, heal} = await start(t, {isProxied: true});
    const {alpha, beta, gamma} = nodes;
    const to = `ann@${domain.name}`;
    for (const node of [alpha, beta, gamma]) await node.hold({to, subject: `at ${node.node_id}`});
    const due = await enable(alpha, domain.id);
    await converged();
    partition(['alpha'], ['beta', 'gamma']);

    await eventually(() => sink.mails.length === 2, due.getTime() - Date.now() + 120_000);
    heal();
    await converged();
    // Each side learns that the other one has sent.
    await new Promise(resolve => setTimeout(resolve, 20_000));

    const texts = await Promise.all(sink.mails.map(async ({content}) => textOf(content)));
    const listed = texts.map(text => [alpha, beta, gamma].map(({node_id}) => node_id).filter(id => text.includes(`at ${id}`)));
    t.deepEqual(
      listed.toSorted((one, other) => one.length - other.length),
      [['alpha'], ['beta', 'gamma']],
    );
    t.is(new Set(await Promise.all(sink.mails.map(async ({content}) => idOf(content)))).size, 2);

    const {json} = await alpha.api('POST', `domains/${domain.id}/digest/send`);
    t.is(json.data.sent, 0);
  },
);
