import {type Reason, reasons} from '../../../shared/reason.ts';
import type {Store} from '../../services/ports.ts';

/** How long the outcome of a mail is remembered after its bytes are gone. */
const rememberedMs = 90 * 24 * 3600 * 1000;
const batchSize = 500;

export interface Retention {
  /**
   * Ends the life of every mail held longer than its reason allows; returns how many. Never earlier than set. One that
   * fails keeps none of the others; the first failure is thrown when all have been tried.
   */
  sweep(): Promise<number>;
}

interface Needs {
  store: Store;
  /** Retention by reason, in milliseconds. */
  keepMs(): Record<Reason, number>;
  /** Nobody can see what is held here any more, so nothing may go unseen. */
  isSuspended?(): boolean;
  expire(queueId: string): Promise<boolean>;
  now: () => number;
}

export const createRetention = ({store, keepMs, isSuspended = () => false, expire, now}: Needs): Retention => {
  const sweepReason = async (reason: Reason, onFailure: (error: unknown) => void): Promise<number> => {
    const before = new Date(now() - keepMs()[reason]).toISOString();
    const due = await store.hold.listArrivedBefore(reason, before, batchSize);
    let expired = 0;
    for (const queueId of due) if (await expire(queueId).catch(onFailure)) expired += 1;
    // A full batch of which something went means there may be more; one that stayed as it was would come again for ever.
    return due.length === batchSize && expired > 0 ? expired + (await sweepReason(reason, onFailure)) : expired;
  };

  return {
    async sweep() {
      if (isSuspended()) return 0;
      const failures: unknown[] = [];
      let expired = 0;
      for (const reason of reasons) expired += await sweepReason(reason, error => void failures.push(error));
      const remembered = new Date(now() - rememberedMs).toISOString();
      while ((await store.transaction(async tx => tx.hold.forgetEnded(remembered, batchSize))) === batchSize);
      if (failures.length > 0) throw failures[0];
      return expired;
    },
  };
};
