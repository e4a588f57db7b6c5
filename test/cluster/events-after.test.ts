// Events after a gap: a watcher that was away is sent what it missed, of all nodes, in the order of each of them, once.
import {cp, rm} from 'node:fs/promises';
import test, {type ExecutionContext} from 'ava';
import type {ClusterNode} from '../helpers/cluster.ts';
import {type TestEventStream, watchEvents} from '../helpers/event-stream.ts';
import {eventually} from '../helpers/eventually.ts';
import {relayAll} from '../helpers/mail-node.ts';
import {useCluster} from '../helpers/use-cluster.ts';

const useNodes = useCluster({isProxied: false});

/** Domains of this test alone, and what a stream has of their mail. */
const arrange = async (t: ExecutionContext) => {
  const cluster = await useNodes(t);
  const domain = await cluster.alpha.createDomain();
  const other = await cluster.alpha.createDomain();
  await cluster.converged();
  let count = 0;
  const hold = async (node: ClusterNode, name = domain.name): Promise<string> => {
    count += 1;
    const {queue_id} = await node.hold({to: `u${count}@${name}`});
    return `${node.node_id}/${queue_id}`;
  };
  const release = async (mail: string) => cluster.alpha.api('POST', `mail/quarantine/${mail}/release`);
  return {...cluster, domain, other, hold, release};
};

const textOf = ({data}: TestEventStream['events'][number]): string[] =>
  'queue_id' in data ? [`${data.type} ${data.node_id}/${data.queue_id}`] : [];
const textsOf = ({events}: TestEventStream): string[] => events.flatMap(textOf);
const ofNode = (texts: string[], {node_id}: ClusterNode) => texts.filter(text => text.includes(` ${node_id}/`));
const has = async (stream: TestEventStream, ...texts: string[]) =>
  eventually(() => texts.every(text => textsOf(stream).includes(text)), 20_000);

test.serial(
  'what a watcher missed comes from all nodes, on another one, in the order of each, and goes on without a seam',
  async t => {
    const {alpha, beta, gamma, hold, release} = await arrange(t);
    const first = await watchEvents(t, alpha, {query: '?type=held,released'});
    await first.listening();
    const [onAlpha, onBeta] = [await hold(alpha), await hold(beta)];
    await has(first, `held ${onAlpha}`, `held ${onBeta}`);
    const lastId = first.lastId();
    first.close();

    const missed = {beta: [`held ${await hold(beta)}`], gamma: [] as string[]};
    await release(onBeta);
    missed.beta.push(`released ${onBeta}`, `held ${await hold(beta)}`);
    missed.gamma.push(`held ${await hold(gamma)}`, `held ${await hold(gamma)}`);
    // Mail arrives while the watcher comes back.
    const during = Promise.all([1, 2, 3, 4, 5].map(async () => hold(beta)));
    const second = await watchEvents(t, gamma, {query: '?type=held,released', lastId});
    const live = [...(await during), await hold(alpha)].map(id => `held ${id}`);
    await has(second, ...missed.beta, ...missed.gamma, ...live);

    t.is(new Set(textsOf(second)).size, textsOf(second).length, 'nothing twice');
    t.deepEqual(ofNode(textsOf(second), beta).slice(0, 3), missed.beta);
    t.deepEqual(ofNode(textsOf(second), gamma), missed.gamma);
    t.deepEqual(ofNode(textsOf(second), alpha), live.slice(5));
    t.is(textsOf(second).length, missed.beta.length + missed.gamma.length + live.length);
  },
);

test.serial('what a node has that is away comes when it is back, wherever the watcher is then', async t => {
  const {alpha, beta, gamma, hold} = await arrange(t);
  const first = await watchEvents(t, alpha);
  await first.listening();
  const seen = await hold(beta);
  await has(first, `held ${seen}`);
  first.close();
  const missed = [await hold(beta), await hold(beta)].map(id => `held ${id}`);
  await beta.stop('SIGKILL');

  const second = await watchEvents(t, alpha, {lastId: first.lastId()});
  const meanwhile = `held ${await hold(gamma)}`;
  await has(second, meanwhile);
  second.close();
  const third = await watchEvents(t, gamma, {lastId: second.lastId()});
  const later = `held ${await hold(alpha)}`;
  await has(third, later);
  t.deepEqual(ofNode([...textsOf(second), ...textsOf(third)], beta), []);
  await beta.start();
  const back = `held ${await hold(beta)}`;
  await has(third, ...missed, back);

  t.deepEqual(ofNode(textsOf(third), beta), [...missed, back]);
  t.false(textsOf(third).includes(meanwhile), 'nothing twice');
});

test.serial('a key of one domain is sent what it missed of this domain, and nothing of others', async t => {
  const {alpha, beta, gamma, domain, other, hold} = await arrange(t);
  const {key} = await alpha.createKey('domain-admin', {domain: domain.name});
  const before = await watchEvents(t, alpha);
  await before.listening();
  const own = [await hold(beta), await hold(gamma)].map(id => `held ${id}`);
  const foreign = [await hold(beta, other.name), await hold(alpha, other.name)].map(id => `held ${id}`);
  await has(before, ...own, ...foreign);

  // The id of a key that sees everything.
  const begin = before.events.find(event => textOf(event)[0] === own[0])?.id;
  const stream = await watchEvents(t, gamma, {key, lastId: begin, query: '?type=held,relayed'});
  const last = `held ${await hold(beta)}`;
  await has(stream, own[1] ?? '', last);

  t.deepEqual(textsOf(stream).sort(), [own[1], last].sort());
});

test.serial('a time is a place to begin, and what is in the log only comes if it is asked for', async t => {
  const {alpha, beta, gamma, hold, converged} = await arrange(t);
  const relayed = await alpha.createDomain(relayAll);
  await converged();
  const since = new Date().toISOString();
  await beta.send('Subject: x\r\n\r\nx\r\n', {from: 'a@bank.test', to: [`b@${relayed.name}`]});
  const held = `held ${await hold(beta)}`;

  const stream = await watchEvents(t, gamma, {query: `?after=${since}&type=held,relayed`});
  const usual = await watchEvents(t, gamma, {query: `?after=${since}`});
  const {data} = await stream.next(({type}) => type === 'relayed');
  await has(stream, held);
  await has(usual, held);

  t.like(data, {type: 'relayed', event: 'relayed', node_id: 'beta', sender: 'a@bank.test', recipients: [`b@${relayed.name}`]});
  t.false(usual.events.some(({name}) => name === 'relayed'));
  const {key} = await alpha.createKey('quarantine-only');
  await eventually(async () => (await gamma.api('GET', 'auth/me', {key})).status === 200);
  const refused = await gamma.api('GET', 'events?type=relayed', {key});
  t.like(refused, {status: 403, json: {error: {code: 'insufficient_scope'}}});
});

test.serial('with an id that is none of these logs one event gap comes, and then what happens from now on', async t => {
  const {alpha, beta, hold} = await arrange(t);
  await hold(beta);
  const foreign = Buffer.from(JSON.stringify([['elsewhere', `${'0'.repeat(16)}.0.1`]])).toString('base64url');

  for (const lastId of ['alpha-m3x9k2-17', 'W10', '%%%', foreign, 'x'.repeat(4000)]) {
    const stream = await watchEvents(t, alpha, {query: '?type=held', lastId});
    await stream.listening();
    const now = `held ${await hold(beta)}`;
    await has(stream, now);
    t.deepEqual(
      stream.events.map(event => textOf(event)[0] ?? event.name),
      ['gap', now],
      lastId.slice(0, 20),
    );
    t.like(stream.events[0]?.data, {type: 'gap', node_id: 'alpha'});
    const again = await watchEvents(t, alpha, {query: '?type=held', lastId: stream.events[0]?.id});
    await has(again, now);
    t.deepEqual(textsOf(again), [now], 'the id of the gap is one to go on from');
    stream.close();
    again.close();
  }
});

test.serial('a node that was restored from an older backup has a gap, and the others have none', async t => {
  const {alpha, beta, gamma, hold, converged} = await arrange(t);
  const stream = await watchEvents(t, alpha, {query: '?type=held'});
  await stream.listening();
  await beta.stop();
  const copy = `${beta.data}.copy`;
  await cp(beta.data, copy, {recursive: true});
  await beta.start();
  await has(stream, `held ${await hold(beta)}`);
  const lastId = stream.lastId();
  stream.close();
  const missed = `held ${await hold(gamma)}`;
  await beta.stop('SIGKILL');
  await rm(beta.data, {recursive: true});
  await cp(copy, beta.data, {recursive: true});
  await beta.start();
  await converged();

  const second = await watchEvents(t, alpha, {query: '?type=held', lastId});
  await second.listening();
  const now = `held ${await hold(beta)}`;
  await has(second, missed, now);

  t.deepEqual(
    second.events.filter(({name}) => name === 'gap').map(({data}) => data.node_id),
    ['beta'],
  );
  t.deepEqual(textsOf(second).sort(), [missed, now].sort());
});
