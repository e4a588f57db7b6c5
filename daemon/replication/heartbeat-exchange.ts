// Heartbeat exchange: the report that this node sends to its peers, and the handling of their reports.

import type {License, Problem} from '../../shared/cluster-status.ts';
import {Fault} from '../../shared/fault.ts';
import {ownValue} from '../../shared/has-own.ts';
import type {KeyDirectory} from '../services/access/key-directory.ts';
import type {RateLimiter} from '../services/access/rate-limit.ts';
import type {NodeIdentity} from '../services/actor.ts';
import {licenseAt} from '../services/cluster/cluster-view.ts';
import type {NodeDirectory} from '../services/cluster/membership.ts';
import {type DmarcState, type Heartbeat, vectorOf} from '../services/cluster/peer-protocol.ts';
import type {PeerStates} from '../services/cluster/peer-states.ts';
import type {Refusals} from '../services/cluster/refusals.ts';
import type {EventInbox, HeartbeatExchange, Replication} from '../services/cluster/replication-ports.ts';
import type {NodeStore} from '../services/node-store.ts';
import {type ConfigRecord, kinds, replicatedPart} from '../services/records.ts';
import type {Drift} from './drift.ts';

/** What the heartbeats of every node contain, whatever store it has. */
interface EveryNodeNeeds {
  peerStates: PeerStates;
  limiter: RateLimiter;
  keyDirectory: KeyDirectory;
  nodeId: string;
  nodeNo: number;
  version: string;
  license(): License;
  hasAuthority: boolean;
  dmarc(): DmarcState;
  problems(): Problem[];
  recipientsUrl(): string | undefined;
  now: () => number;
}

type ConfigReport = Pick<Heartbeat, 'config_hash' | 'last_seq' | 'applied' | 'self' | 'outbox_refused' | 'refuses_yours'> & {
  changed_at_ms: number;
};

interface HeartbeatNeeds extends EveryNodeNeeds {
  /** What this node reports of its configuration to node `to`. */
  report(to: number): Promise<ConfigReport>;
  /** Called with each heartbeat of another node, after what every node does with it. */
  onReceived(from: NodeIdentity, received: Heartbeat): Promise<void>;
}

export const createHeartbeats = (needs: HeartbeatNeeds): HeartbeatExchange => {
  const {peerStates, limiter, keyDirectory, nodeId, nodeNo, now} = needs;

  const heartbeat: HeartbeatExchange['heartbeat'] = async (to, usesAfter) => {
    const {changed_at_ms, ...report} = await needs.report(to);
    const {uses, upTo} = keyDirectory.usesAfter(usesAfter);
    return {
      usesUpTo: upTo,
      heartbeat: {
        node_id: nodeId,
        node_no: nodeNo,
        version: needs.version,
        clock_ms: now(),
        config_hash_age_s: Math.max(0, Math.floor((now() - changed_at_ms) / 1000)),
        license: licenseAt(needs.license(), now()),
        has_authority: needs.hasAuthority,
        dmarc: needs.dmarc(),
        problems: needs.problems(),
        kinds: [...kinds],
        recipients_url: needs.recipientsUrl() ?? null,
        key_counts: limiter.counts(),
        key_uses: uses,
        unreached: peerStates.unreached().slice(0, 1000),
        ...report,
      },
    };
  };
  const receiveHeartbeat: HeartbeatExchange['receiveHeartbeat'] = async (from, received) => {
    if (received.node_no !== from.nodeNo || received.node_id !== from.nodeId)
      throw new Fault('validation_failed', `node ${from.nodeId} speaks for ${received.node_id}, which it is not`);
    const {self: _self, refuses_yours: _refusal, ...report} = received;
    peerStates.received(report);
    limiter.receiveCounts(received.node_no, received.key_counts, received.clock_ms);
    for (const [keyId, at] of received.key_uses) keyDirectory.receiveUse(keyId, at);
    await needs.onReceived(from, received);
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
  };
};

interface Needs extends EveryNodeNeeds {
  store: NodeStore;
  replication: Replication;
  inbox: Pick<EventInbox, 'noteBehind'>;
  drift: Drift;
  directory: Pick<NodeDirectory, 'findByNo'>;
  refusals: Refusals;
}

/** For nodes that replicate. */
export const createHeartbeatExchange = (needs: Needs): HeartbeatExchange => {
  const {replication, drift, directory, refusals, nodeNo} = needs;

  /** Applies what a node reports about itself, authenticated by its certificate, if it differs from the record here. */
  const applySelf = async (from: NodeIdentity, self: ConfigRecord): Promise<void> => {
    const known: object | undefined = directory.findByNo(from.nodeNo);
    if (self.kind !== 'node' || self.id !== from.nodeNo || self.deleted !== null || !known) return;
    const isChanged = Object.entries(known).some(([name, value]) => {
      const reported = ownValue(self.fields, name)?.[0];
      return reported !== undefined && reported !== value;
    });
    if (isChanged) await replication.merge([self], {node: from, path: 'heartbeat'});
  };

  return createHeartbeats({
    ...needs,
    report: createReport(needs),
    async onReceived(from, received) {
      refusals.byPeer(from.nodeNo, 'records', received.refuses_yours);
      if (received.self) await applySelf(from, received.self);
      await drift.compare(received);
      if ((ownValue(received.applied, nodeNo) ?? 0) > (await replication.lastSeq())) needs.inbox.noteBehind(from.nodeNo);
    },
  });
};

const createReport = ({store, directory, refusals, nodeNo}: Needs): HeartbeatNeeds['report'] => {
  const isRefused = (): boolean => refusals.peersThatRefuse().some(no => directory.findByNo(no));

  return async to => {
    // Read at one moment: a hash next to the sequence numbers of other events looks like drift to a node that has exactly these
    // events.
    const {applied, self, ...config} = await store.atOneMoment(async reads => {
      const others = await reads.applied.all();
      const own = await reads.records.find({kind: 'node', id: nodeNo});
      return {...(await reads.config.configHash()), applied: others.set(nodeNo, await reads.outbox.last()), self: own};
    });
    const refused = refusals.whyOfPeer(to);
    return {
      ...config,
      last_seq: applied.get(nodeNo) ?? 0,
      applied: vectorOf(applied),
      ...(self && {self: replicatedPart(self)}),
      outbox_refused: isRefused(),
      ...(refused !== undefined && {refuses_yours: refused}),
    };
  };
};
