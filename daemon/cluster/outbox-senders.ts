// Replication with each peer: sending changes, catching up.

import type {Logger} from 'pino';
import type {Refusals} from '../services/cluster/refusals.ts';
import type {EventInbox, Replication} from '../services/cluster/replication-ports.ts';
import {createCatchUpRunner} from './catch-up.ts';
import {startOutboxSender} from './outbox-sender.ts';
import type {PeerWork} from './peer-links.ts';
import type {Peer} from './peers.ts';

interface Needs {
  nodeNo: number;
  inbox: Pick<EventInbox, 'onBehind'>;
  replication: Replication;
  refusals: Pick<Refusals, 'byPeer'>;
  log: Logger;
}

export const createOutboxSenders = ({nodeNo, inbox, replication, refusals, log}: Needs) => {
  const senders = new Map<number, {peer: Peer; sender: ReturnType<typeof startOutboxSender>}>();
  const all = () => [...senders.values()];
  const startedAt = new Date().toISOString();
  const wake = () => {
    for (const {sender} of all()) sender.wake();
  };
  const catchUps = createCatchUpRunner({nodeNo, replication, onDone: wake, log});
  inbox.onBehind(from => {
    const link = senders.get(from);
    if (link) catchUps.start(link.peer);
  });

  return {
    start(peer: Peer, onFailure: (error: unknown) => void): PeerWork {
      const sender = startOutboxSender({
        client: peer.client,
        replication,
        // A peer that has joined since knows events of this node from other nodes.
        onGoneBack: peer.joinedAt > startedAt ? undefined : () => catchUps.start(peer),
        onFailure,
        onAnswer: why => refusals.byPeer(peer.nodeNo, 'events', why),
      });
      senders.set(peer.nodeNo, {peer, sender});
      return {
        reportedApplied: sender.reportedApplied,
        stop() {
          senders.delete(peer.nodeNo);
          sender.stop();
        },
      };
    },
    /** There is a new event in the outbox. */
    wake,
    /** Waits until all peers have applied event `seq`; resolves with the ids of those that could not be reached, or were too late. */
    async settled(seq: number, deadlineMs: number): Promise<string[]> {
      const outcomes = await Promise.all(
        all().map(async ({peer, sender}) => ((await sender.reached(seq, deadlineMs)) ? [] : [peer.nodeId])),
      );
      return outcomes.flat().sort();
    },
    /** The last event of this node that all peers have applied; undefined until each peer has reported its position. */
    leastAcknowledged(): number | undefined {
      const acknowledged = all().map(({sender}) => sender.acknowledged);
      return acknowledged.every(seq => seq !== undefined)
        ? Math.min(Number.MAX_SAFE_INTEGER, ...(acknowledged as number[]))
        : undefined;
    },
    /** Waits for all catching up under way; resolves with whether it has succeeded. */
    caughtUp: catchUps.done,
    stop: catchUps.stop,
  };
};
