import test from 'ava';
import {type StreamEvent, streamEventSchema} from '../../shared/cluster-event.ts';
import {watchEvents} from '../helpers/event-stream.ts';
import {eventually} from '../helpers/eventually.ts';
import {startNode} from '../helpers/node.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode();

const isOf = (queueId: string, type: string) => (event: StreamEvent) =>
  event.type === type && 'queue_id' in event && event.queue_id === queueId;

test('what happens comes as server-sent events, each one JSON object with an id of its own', async t => {
  const stream = await watchEvents(t, node());
  await stream.listening();
  const domain = await node().createDomain();

  const [held, discarded] = [await node().hold({to: `a@${domain.name}`}), await node().hold({to: `b@${domain.name}`})];
  const path = (mail: typeof held) => `mail/quarantine/${mail.node_id}/${mail.queue_id}`;
  const entry = (await node().api('GET', `mail/quarantine?domain=${domain.name}&recipient=a@${domain.name}`)).json.data[0];
  const outcome = (await node().api('POST', `${path(held)}/release`)).json.data;
  await node().api('POST', `${path(held)}/release`);
  await node().api('POST', `${path(discarded)}/discard`);
  await node().api('PUT', `domains/${domain.id}`, {body: {active: false}});
  await stream.next(event => event.type === 'domain' && event.id === domain.id && event.change === 'updated');
  await stream.next(isOf(discarded.queue_id, 'discarded'));

  t.regex(String(stream.headers['content-type']), /^text\/event-stream/);
  t.is(stream.headers['cache-control'], 'no-store');
  t.regex(stream.text(), /Last-Event-ID/, 'says what it does not do');
  const own = stream.events.filter(
    ({data}) =>
      ('queue_id' in data && [held.queue_id, discarded.queue_id].includes(data.queue_id ?? '')) ||
      (data.type === 'domain' && data.id === domain.id),
  );
  // Each kind has its order, as events of mail come by way of the log.
  const ofDomain = own.filter(({data}) => data.type === 'domain');
  const ofMail = own.filter(({data}) => data.type !== 'domain');
  const inOrder = (events: typeof own) => events.map(({name, data}) => `${name} ${data.type}`);
  t.deepEqual(inOrder(ofDomain), ['domain domain', 'domain domain']);
  t.deepEqual(inOrder(ofMail), ['held held', 'held held', 'released released', 'discarded discarded']);
  for (const {data} of own) t.true(streamEventSchema.safeParse(data).success, JSON.stringify(data));
  t.deepEqual(
    ofDomain.map(({id}) => id),
    ['', ''],
    'these are live only',
  );
  t.is(new Set(ofMail.map(({id}) => id)).size, 4);
  const {type, at, ...mail} = (await stream.next(isOf(held.queue_id, 'held'))).data as {type: string; at: string};
  t.deepEqual(mail, entry);
  t.true(at >= entry.arrived_at, type);
  t.like((await stream.next(isOf(held.queue_id, 'released'))).data, {...outcome, type: 'released'});
  t.like(ofDomain[0]?.data, {type: 'domain', id: domain.id, name: domain.name, change: 'created', node_id: node().node_id});
});

test('a line on which nothing happens pings as often as it says', async t => {
  const stream = await watchEvents(t, node());

  const seconds = Number(stream.headers['x-ping-interval']);
  await eventually(() => stream.text().includes(': ping\n\n'), (seconds + 2) * 1000);

  t.is(seconds, 5);
});

test('only the types that are asked for come, and what is no type is refused by name', async t => {
  const stream = await watchEvents(t, node(), {query: '?type=released,domain'});
  const domain = await node().createDomain();
  const mail = await node().hold({to: `a@${domain.name}`});
  await node().api('POST', `mail/quarantine/${mail.node_id}/${mail.queue_id}/release`);
  await stream.next(isOf(mail.queue_id, 'released'));

  t.true(stream.events.every(({name}) => name === 'released' || name === 'domain'));
  for (const query of ['type=', 'type=held,x', 'type=held&type=key', 'since=x']) {
    const {status, json} = await node().api('GET', `events?${query}`);
    t.is(status, 400, query);
    t.is(json.error.fields[0].path, query.startsWith('type') ? 'type' : 'since');
  }
});

test('a key may watch twenty times; the next is told to end one first, and one that goes makes room', async t => {
  const {key} = await node().createKey('read-only');
  const streams = await Promise.all(Array.from({length: 20}, async () => watchEvents(t, node(), {key})));

  const {status, json, headers} = await node().api('GET', 'events', {key});
  t.is(status, 429);
  t.is(json.error.code, 'rate_limited');
  t.truthy(headers['retry-after']);

  streams[0]?.close();
  t.true(await eventually(async () => (await node().api('GET', 'events', {key})).status === 200));
});

test('a node with watchers stops without waiting for them', async t => {
  const other = await startNode(t);
  const streams = await Promise.all([watchEvents(t, other), watchEvents(t, other)]);
  await streams[0]?.listening();

  const startedAt = performance.now();
  const code = await other.stop();

  t.is(code, 0);
  t.log(`${Math.round(performance.now() - startedAt)} ms`);
  t.true(await eventually(() => streams.every(({isEnded}) => isEnded())));
});
