// Taking everything from a peer, one peer at a time each, whenever somebody notices that it is needed.

import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import {Fault} from '../../shared/fault.ts';
import type {Replication} from '../services/cluster/replication-ports.ts';
import {catchUp} from './catch-up.ts';
import {causeOf} from './failure-log.ts';
import type {Peer} from './peers.ts';

export interface CatchUps {
  /** Begins, unless it has begun already. */
  start(peer: Peer): void;
  /** Waits for all that are under way; resolves with whether they have all been done. */
  done(): Promise<boolean>;
  /** Begins no more. What is under way ends when its peer's client is closed. */
  stop(): void;
}

interface Needs {
  nodeNo: number;
  replication: Replication;
  onDone(): void;
  log: Logger;
}

const pauseMs = 1000;

export const createCatchUps = ({nodeNo, replication, onDone, log}: Needs): CatchUps => {
  const underWay = new Map<number, Promise<boolean>>();
  const stopped = new AbortController();

  const take = async (peer: Peer): Promise<boolean> => {
    const {nodeId, client} = peer;
    try {
      const records = await catchUp({client, source: {node: peer, path: 'snapshot'}}, replication, nodeNo);
      log.info({node: nodeId, records}, 'configuration taken from another node');
      onDone();
      return true;
    } catch (error) {
      if (stopped.signal.aborted) return false;
      const why = error instanceof Fault ? {detail: causeOf(error)} : {err: error};
      log.warn({node: nodeId, ...why}, 'taking the configuration from another node failed');
      // Whoever noticed that it is needed notices again; not at once.
      await delay(pauseMs, undefined, {ref: false, signal: stopped.signal}).catch(() => {});
      return false;
    }
  };

  return {
    start(peer) {
      if (stopped.signal.aborted || underWay.has(peer.nodeNo)) return;
      underWay.set(
        peer.nodeNo,
        take(peer).finally(() => underWay.delete(peer.nodeNo)),
      );
    },
    done: async () => (await Promise.all(underWay.values())).every(Boolean),
    stop: () => stopped.abort(),
  };
};
