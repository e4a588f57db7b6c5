// Heartbeat exchange: the report that this node sends to its peers, and the handling of their reports.

import type {License} from '../../shared/cluster-status.ts';
import {Fault} from '../../shared/fault.ts';
import type {NodeIdentity} from '../services/access/actor.ts';
import type {KeyDirectory} from '../services/access/key-directory.ts';
import type {RateLimiter} from '../services/access/rate-limit.ts';
import {licenseAt} from '../services/cluster/cluster.ts';
import type {NodeDirectory} from '../services/cluster/membership.ts';
import {vectorOf} from '../services/cluster/peer-protocol.ts';
import type {PeerStates} from '../services/cluster/peer-states.ts';
import type {Refusals} from '../services/cluster/refusals.ts';
import type {HeartbeatExchange, Replication} from '../services/cluster/replication-ports.ts';
import type {NodeStore} from '../services/node-store.ts';
import {type ConfigRecord, replicatedPart} from '../services/records.ts';
import type {Drift} from './drift.ts';

interface Needs {
  store: NodeStore;
  replication: Replication;
  peerStates: PeerStates;
  limiter: RateLimiter;
  keyDirectory: KeyDirectory;
  drift: Drift;
  directory: Pick<NodeDirectory, 'findByNo'>;
  refusals: Refusals;
  nodeId: string;
  nodeNo: number;
  version: string;
  license(): License;
  hasAuthority: boolean;
  now: () => number;
}

export const createHeartbeatExchange = (needs: Needs): HeartbeatExchange => {
  const {replication, peerStates, limiter, keyDirectory, drift, directory, refusals, nodeNo} = needs;
  const listeners: ((nodeNo: number) => void)[] = [];
  const notifyBehind = (from: number) => {
    for (const listener of listeners) listener(from);
  };

  const heartbeat = createOwnHeartbeat(needs);

  /** Applies what a node reports about itself, authenticated by its certificate, if it differs from the record here. */
  const applySelf = async (from: NodeIdentity, self: ConfigRecord): Promise<void> => {
    const known: object | undefined = directory.findByNo(from.nodeNo);
    if (self.kind !== 'node' || self.id !== from.nodeNo || self.deleted !== null || !known) return;
    const isChanged = Object.entries(known).some(([name, value]) => {
      const reported = self.fields[name]?.[0];
      return reported !== undefined && reported !== value;
    });
    if (isChanged) await replication.merge([self], {node: from, path: 'heartbeat'});
  };

  const receiveHeartbeat: HeartbeatExchange['receiveHeartbeat'] = async (from, received) => {
    if (received.node_no !== from.nodeNo || received.node_id !== from.nodeId)
      throw new Fault('validation_failed', `node ${from.nodeId} speaks for ${received.node_id}, which it is not`);
    const {self, refuses_yours, ...report} = received;
    peerStates.received(report);
    refusals.byPeer(from.nodeNo, 'records', refuses_yours);
    limiter.receiveCounts(received.node_no, received.key_counts, received.clock_ms);
    for (const [keyId, at] of received.key_uses) keyDirectory.receiveUse(keyId, at);
    if (self) await applySelf(from, self);
    await drift.compare(received);
    if ((received.applied[nodeNo] ?? 0) > (await replication.lastSeq())) notifyBehind(from.nodeNo);
  };

  return {
    heartbeat,
    receiveHeartbeat,
    async answer(from, received) {
      await receiveHeartbeat(from, received);
      // This node sends key uses with its own heartbeats, each use once, so answers carry none.
      return (await heartbeat(from.nodeNo, Number.POSITIVE_INFINITY)).heartbeat;
    },
    receiveStop: ({nodeNo: no}) => peerStates.stopped(no),
    async receiveEvents(from, request) {
      try {
        const {applied, hasGap, leftOut} = await replication.receive(from, request);
        if (request.events.length > 0) refusals.ofPeer(from.nodeNo, 'events', leftOut === '' ? undefined : leftOut);
        if (hasGap) notifyBehind(from.nodeNo);
        return {applied, ...(leftOut !== '' && {left_out: leftOut})};
      } catch (error) {
        if (error instanceof Fault && error.code === 'validation_failed') refusals.ofPeer(from.nodeNo, 'events', error.detail);
        throw error;
      }
    },
    onBehind: listener => void listeners.push(listener),
  };
};

const createOwnHeartbeat = (needs: Needs): HeartbeatExchange['heartbeat'] => {
  const {store, peerStates, limiter, keyDirectory, directory, refusals, nodeId, nodeNo, now} = needs;
  const isRefused = (): boolean => refusals.peersThatRefuse().some(no => directory.findByNo(no));

  return async (to, usesAfter) => {
    // Read at one moment: a hash next to the sequence numbers of other events looks like drift to a node that has exactly these
    // events.
    const {config_hash, changed_at_ms, applied, self} = await store.atOneMoment(async reads => {
      const others = await reads.applied.all();
      const own = await reads.records.find({kind: 'node', id: nodeNo});
      return {...(await reads.config.configHash()), applied: others.set(nodeNo, await reads.outbox.last()), self: own};
    });
    const refused = refusals.whyOfPeer(to);
    const {uses, upTo} = keyDirectory.usesAfter(usesAfter);
    return {
      usesUpTo: upTo,
      heartbeat: {
        node_id: nodeId,
        node_no: nodeNo,
        version: needs.version,
        clock_ms: now(),
        config_hash,
        config_hash_age_s: Math.max(0, Math.floor((now() - changed_at_ms) / 1000)),
        last_seq: applied.get(nodeNo) ?? 0,
        applied: vectorOf(applied),
        license: licenseAt(needs.license(), now()),
        has_authority: needs.hasAuthority,
        key_counts: limiter.counts(),
        key_uses: uses,
        ...(self && {self: replicatedPart(self)}),
        outbox_refused: isRefused(),
        ...(refused !== undefined && {refuses_yours: refused}),
        unreached: peerStates.unreached().slice(0, 1000),
      },
    };
  };
};
