import {text} from 'node:stream/consumers';
import test, {type ExecutionContext} from 'ava';
import {createHoldEventListener} from '../../../daemon/cluster/hold-event-listener.ts';
import type {Peer, Peers} from '../../../daemon/cluster/peers.ts';
import type {BusEvent} from '../../../daemon/services/events/event-bus.ts';
import type {HeldMail} from '../../../shared/held-mail.ts';
import {eventually} from '../../helpers/eventually.ts';
import {type PeerNode, startPeerNodes} from '../../helpers/peer-nodes.ts';

const mailOf = (node_id: string, queue_id: string): HeldMail => ({
  node_id,
  queue_id,
  sender: 'ada@example.net',
  from: ['ada@example.net'],
  recipients: ['ben@example.com'],
  subject: 'a\nb\u2028c',
  score: 8,
  symbols: [],
  reason: 'spam',
  size_bytes: 100,
  arrived_at: '2026-03-01T12:00:00.000Z',
  release_requested: false,
});

const happen = ({bus, nodeId}: PeerNode, queueId: string) => bus.publish({type: 'held', ...mailOf(nodeId, queueId)}, 1);

/** Alpha subscribes to the others; nodes may join and leave. */
const startListening = async (t: ExecutionContext, names = ['alpha', 'beta', 'gamma']) => {
  const [alpha, ...others] = (await startPeerNodes(t, names)) as [PeerNode, ...PeerNode[]];
  const heard: BusEvent[] = [];
  const farewells = new Map<PeerNode, () => void>();
  const members: Peer[] = [];
  let welcome: (peer: Peer) => () => void = () => () => {};
  const join = (node: PeerNode) => {
    const peer = {nodeNo: names.indexOf(node.nodeId) + 1, nodeId: node.nodeId, joinedAt: '', client: node.clientOf(alpha)};
    members.push(peer);
    farewells.set(node, welcome(peer));
  };
  const peers: Pick<Peers, 'list' | 'follow'> = {
    list: () => members,
    follow(listener) {
      welcome = listener;
    },
  };
  const {listen} = createHoldEventListener({
    sharesMail: false,
    peers: peers as Peers,
    onFailure: (_nodeId, error) => t.log(String(error)),
  });
  const ids = () => heard.map(({event}) => ('queue_id' in event ? event.queue_id : event.type));
  return {
    others,
    heard,
    ids,
    join,
    leave: (node: PeerNode) => farewells.get(node)?.(),
    listener: {listen: () => listen(event => heard.push(event))},
  };
};

test('what happens on every other node is heard as it happened there, and nothing but mail', async t => {
  const {others, heard, join, listener} = await startListening(t);
  const [beta, gamma] = others as [PeerNode, PeerNode];
  others.forEach(join);
  const {silent, stop} = listener.listen();
  t.teardown(stop);
  t.deepEqual(await silent, []);
  const local: BusEvent[] = [];
  beta.bus.subscribe(event => local.push(event));

  beta.bus.publish({type: 'health', node_id: 'alpha', from: 'online', to: 'stale'});
  beta.bus.publish({type: 'domain', node_id: 'beta', id: 1, name: 'example.com', change: 'created'}, 1);
  happen(beta, 'OnBeta0001');
  beta.bus.publish(
    {
      type: 'released',
      node_id: 'beta',
      queue_id: 'OnBeta0001',
      state: 'released',
      acted_at: '2026-03-01T12:00:01.000Z',
      acted_by_key_id: 7,
      already: false,
    },
    1,
  );
  await eventually(() => heard.length === 2);
  happen(gamma, 'OnGamma001');
  await eventually(() => heard.length === 3);

  t.deepEqual(heard.slice(0, 2), local.slice(2));
  t.is(new Set(heard.map(({id}) => id)).size, 3);
});

test('nodes that join are listened to, those that leave are not, and one that restarts is found again', async t => {
  const {others, ids, join, leave, listener} = await startListening(t);
  const [beta, gamma] = others as [PeerNode, PeerNode];
  join(beta);
  const {silent, stop} = listener.listen();
  t.teardown(stop);
  await silent;

  join(gamma);
  await eventually(() => {
    happen(gamma, 'OnGamma001');
    return ids().includes('OnGamma001');
  });
  await beta.stop();
  await beta.start();
  await eventually(() => {
    happen(beta, 'OnBeta0001');
    return ids().includes('OnBeta0001');
  });
  leave(gamma);
  const before = ids().length;
  happen(gamma, 'AfterLeave');
  happen(beta, 'OnBeta0002');
  await eventually(() => ids().includes('OnBeta0002'));

  t.false(ids().slice(before).includes('AfterLeave'));
});

test('a node that is away is named at once, and nobody is listened to any more once that has stopped', async t => {
  const {others, ids, join, listener} = await startListening(t);
  const [beta, gamma] = others as [PeerNode, PeerNode];
  others.forEach(join);
  await gamma.stop();

  const {silent, stop} = listener.listen();
  t.deepEqual(await silent, ['gamma']);
  stop();
  let told = 0;
  // A listener that is still subscribed would receive this event.
  await eventually(() => {
    told += 1;
    happen(beta, `Later0000${told}`);
    return told > 3;
  });
  const again = listener.listen();
  t.teardown(again.stop);
  await again.silent;
  happen(beta, 'Again00001');
  await eventually(() => ids().includes('Again00001'));

  t.deepEqual(ids(), ['Again00001']);
});

test('a node that speaks of the mail of another one is not listened to', async t => {
  const {others, ids, join, listener} = await startListening(t, ['alpha', 'beta']);
  const [beta] = others as [PeerNode];
  join(beta);
  const {silent, stop} = listener.listen();
  t.teardown(stop);
  await silent;

  beta.bus.publish({type: 'held', ...mailOf('gamma', 'NotItsOwn1')}, 1);
  await eventually(() => {
    happen(beta, 'ItsOwn0001');
    return ids().length > 0;
  });

  t.false(ids().includes('NotItsOwn1'));
});

test('a node that stops ends what others hear of it, at once for whoever asks after that', async t => {
  const [alpha, beta] = (await startPeerNodes(t, ['alpha', 'beta'])) as [PeerNode, PeerNode];
  const client = beta.clientOf(alpha);
  const hear = async () => (await client.stream({method: 'GET', path: 'hold-events', deadlineMs: 10_000})).stream;
  const before = text(await hear());
  happen(beta, 'Before0001');

  beta.bus.close();

  t.regex(await before, /Before0001/);
  t.is((await text(await hear())).trim(), '');
});
