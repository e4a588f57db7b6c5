// What this node says of itself to its peers, and what it makes of what they say of themselves.
import type {License} from '../../shared/cluster-status.ts';
import {Fault} from '../../shared/fault.ts';
import {listApplied} from '../store/applied.ts';
import {type Database, readTogether} from '../store/database.ts';
import {lastOutboxSeq} from '../store/outbox.ts';
import {readConfigHash} from './apply.ts';
import {licenseAt} from './cluster.ts';
import type {Drift} from './drift.ts';
import type {KeyDirectory} from './key-directory.ts';
import {type EventsRequest, type Heartbeat, vectorOf} from './peer-protocol.ts';
import type {PeerStates} from './peer-states.ts';
import type {NodeIdentity} from './ports.ts';
import type {RateLimiter} from './rate-limit.ts';
import type {Replication} from './replication.ts';

export interface PeerTalk {
  /** This node's heartbeat, with the key uses after the `usesAfter`-th; `usesUpTo` is for the next one. */
  heartbeat(usesAfter: number): Promise<{heartbeat: Heartbeat; usesUpTo: number}>;
  /** Takes in a heartbeat and answers with this node's own. */
  answer(from: NodeIdentity, heartbeat: Heartbeat): Promise<Heartbeat>;
  /** Takes in a heartbeat. A Fault `validation_failed` when it speaks for another node than the one it came from. */
  hear(from: NodeIdentity, heartbeat: Heartbeat): Promise<void>;
  receive(from: NodeIdentity, request: EventsRequest): Promise<{applied: number}>;
  /** Something has to be fetched from that node: events are gone there, or it knows more of this node than the node itself. */
  onBehind(listener: (nodeNo: number) => void): void;
}

interface Needs {
  database: Database;
  replication: Replication;
  peerStates: PeerStates;
  limiter: RateLimiter;
  keyDirectory: KeyDirectory;
  drift: Drift;
  nodeId: string;
  nodeNo: number;
  version: string;
  license(): License;
  hasAuthority: boolean;
  now: () => number;
}

export const createPeerTalk = (needs: Needs): PeerTalk => {
  const {database, replication, peerStates, limiter, keyDirectory, drift, nodeId, nodeNo, now} = needs;
  const listeners: ((nodeNo: number) => void)[] = [];
  const tellBehind = (from: number) => {
    for (const listener of listeners) listener(from);
  };

  const heartbeat: PeerTalk['heartbeat'] = async usesAfter => {
    // Of one moment: a hash beside the numbers of other events looks like a drift to whoever has just these events.
    const {config_hash, changed_at_ms, applied} = await readTogether(database, async db => {
      const others = await listApplied(db);
      return {...(await readConfigHash(db)), applied: others.set(nodeNo, await lastOutboxSeq(db))};
    });
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
      },
    };
  };

  const hear: PeerTalk['hear'] = async (from, heard) => {
    if (heard.node_no !== from.nodeNo || heard.node_id !== from.nodeId)
      throw new Fault('validation_failed', `node ${from.nodeId} speaks for ${heard.node_id}, which it is not`);
    peerStates.heard(heard);
    limiter.hear(heard.node_no, heard.key_counts, heard.clock_ms);
    for (const [keyId, at] of heard.key_uses) keyDirectory.hearUse(keyId, at);
    await drift.compare(heard);
    if ((heard.applied[nodeNo] ?? 0) > (await replication.lastSeq())) tellBehind(from.nodeNo);
  };

  return {
    heartbeat,
    hear,
    async answer(from, heard) {
      await hear(from, heard);
      // Uses of keys go out with this node's own heartbeats, each once.
      return (await heartbeat(Number.POSITIVE_INFINITY)).heartbeat;
    },
    async receive({nodeNo: origin}, request) {
      const {applied, hasGap} = await replication.receive(origin, request);
      if (hasGap) tellBehind(origin);
      return {applied};
    },
    onBehind: listener => void listeners.push(listener),
  };
};
