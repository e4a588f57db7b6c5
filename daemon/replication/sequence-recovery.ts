// Recovery of the sequences of this node after its database was restored from a backup.
import {Fault} from '../../shared/fault.ts';
import type {Replication} from '../services/cluster/replication-ports.ts';
import type {NodeStore} from '../services/node-store.ts';
import {kinds} from '../services/records.ts';

const skippedIds = 100_000;
/** More than a node can write between a backup and its restoration. */
export const mostForgotten = 10_000_000;

interface Needs {
  store: NodeStore;
  /** The number of this node's newest event when the process began. */
  begunAt: number;
}

export const createSequenceRecovery = ({
  store,
  begunAt,
}: Needs): Pick<Replication, 'recover' | 'checkFirstAcknowledgement' | 'skipIds'> => {
  const requirePossible = async (seq: number): Promise<void> => {
    const last = await store.outbox.last();
    if (seq - last > mostForgotten)
      throw new Fault('validation_failed', `a node claims to know event ${seq} of this one, which has come to ${last}`);
  };

  return {
    async recover(seq) {
      await requirePossible(seq);
      await store.transaction(async tx => {
        if (seq > (await tx.outbox.last())) await tx.outbox.renumber(seq);
      });
    },

    async checkFirstAcknowledgement(seq) {
      if (seq <= begunAt) return false;
      await requirePossible(seq);
      await store.transaction(async tx => {
        if (seq > (await tx.outbox.floor())) await tx.outbox.renumber(Math.max(seq, await tx.outbox.last()));
      });
      return true;
    },

    async skipIds() {
      await store.transaction(async tx => {
        for (const kind of kinds) await tx.sequences.raise(kind, (await tx.sequences.last(kind)) + skippedIds);
      });
    },
  };
};
