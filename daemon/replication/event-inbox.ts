// Events of other nodes as they come in: applies them, and notes why a batch was not taken whole.

import {Fault} from '../../shared/fault.ts';
import type {Refusals} from '../services/cluster/refusals.ts';
import type {EventInbox, Replication} from '../services/cluster/replication-ports.ts';

interface Needs {
  replication: Pick<Replication, 'receive'>;
  refusals: Pick<Refusals, 'ofPeer'>;
}

export const createEventInbox = ({replication, refusals}: Needs): EventInbox => {
  const listeners: ((nodeNo: number) => void)[] = [];
  const noteBehind: EventInbox['noteBehind'] = nodeNo => {
    for (const listener of listeners) listener(nodeNo);
  };

  return {
    async receive(from, request) {
      try {
        const {applied, hasGap, leftOut} = await replication.receive(from, request);
        if (request.events.length > 0) refusals.ofPeer(from.nodeNo, 'events', leftOut === '' ? undefined : leftOut);
        if (hasGap) noteBehind(from.nodeNo);
        return {applied, ...(leftOut !== '' && {left_out: leftOut})};
      } catch (error) {
        if (error instanceof Fault && error.code === 'validation_failed') refusals.ofPeer(from.nodeNo, 'events', error.detail);
        throw error;
      }
    },
    noteBehind,
    onBehind: listener => void listeners.push(listener),
  };
};
