// Clients for the other nodes: their hold queues, audit logs and events.

import {createHoldEventListener} from '../cluster/hold-event-listener.ts';
import {askedNode, createPeerHoldQueue} from '../cluster/peer-queries.ts';
import type {Peers} from '../cluster/peers.ts';
import {createEventBus, publishConfigEvents} from '../services/events/event-bus.ts';
import {createEvents} from '../services/events/events.ts';
import type {MailSource} from '../services/events/mail-source.ts';
import {createAskAll} from '../services/peers/gather.ts';
import type {AskedNode} from '../services/peers/question.ts';
import type {ListedQueue} from '../services/quarantine/stored-mail.ts';
import type {Base} from './base.ts';

/** Provides the clients of all current peers. */
export const followPeers = ({records: {nodeDirectory, peerStates}, log}: Pick<Base, 'records' | 'log'>, peers: Peers) => {
  const queues = new Map<number, ListedQueue>();
  const nodes = new Map<number, AskedNode & {nodeNo: number}>();
  peers.follow(({nodeNo, client}) => {
    const node = askedNode(client);
    nodes.set(nodeNo, {nodeNo, ...node});
    queues.set(nodeNo, createPeerHoldQueue(client, node));
    return () => {
      nodes.delete(nodeNo);
      queues.delete(nodeNo);
    };
  });
  const nodeOf = (nodeId: string) => {
    const peer = peers.list().find(one => one.nodeId === nodeId);
    return peer && nodeDirectory.findByNo(peer.nodeNo);
  };
  const isAway = (nodeId: string): boolean => {
    const node = nodeOf(nodeId);
    return node !== undefined && peerStates.healthOf(node) === 'offline';
  };
  return {
    queues: () => [...queues.values()],
    nodes: () => [...nodes.values()],
    isAway,
    isSilent: (nodeId: string) => isAway(nodeId) || peerStates.unreached().includes(nodeOf(nodeId)?.id ?? 0),
    ask: createAskAll({
      onSilent: (node, fault) => log.warn({node, detail: fault.detail}, 'a node did not answer; its data is left out'),
      isAway,
    }),
  };
};

export const openEvents = (
  {storage: {nodeId, engine}, records, metrics, log, now}: Pick<Base, 'storage' | 'records' | 'metrics' | 'log' | 'now'>,
  peers: Peers,
  sources: () => MailSource[],
) => {
  const {configuration, keyDirectory: keys, domainDirectory: domains, peerStates, requireFresh} = records;
  const bus = createEventBus({nodeId, now, onFailure: error => log.error({err: error}, 'publishing an event failed')});
  const elsewhere = createHoldEventListener({
    peers,
    sharesMail: engine.kind === 'common',
    onFailure: (node, error) => log.debug({node, err: error}, 'receiving events from a node failed'),
  });
  const events = createEvents({
    nodeId,
    sources,
    keys,
    domains,
    configuration,
    subscribeToPeers: elsewhere.listen,
    requireFresh,
    onFailure: (name, error) =>
      log.error(
        {node: name === '' ? nodeId : name, err: error},
        'the event log of a node cannot be read; streams of events wait',
      ),
    now,
  });

  bus.subscribe(events.receive);
  publishConfigEvents({configuration, domains, keys, bus});
  peerStates.onHealth(change => {
    metrics.healthChanged();
    bus.publish({type: 'health', ...change});
  });
  return {bus, events};
};
