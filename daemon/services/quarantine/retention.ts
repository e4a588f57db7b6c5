// Retention of held mail: mail that has been held too long expires.
import {type Reason, reasons} from '../../../shared/reason.ts';
import type {Store} from '../ports.ts';

/** How long the row of a mail is stored after its bytes are deleted. */
const endedRowsMs = 90 * 24 * 3600 * 1000;
const batchSize = 500;

export interface Retention {
  /**
   * Expires every mail that has been held longer than the retention of its reason, never earlier; returns how many. After a failure
   * the other mails are still tried; then the first failure is thrown.
   */
  sweep(): Promise<number>;
}

interface Needs {
  store: Store;
  /** Retention by reason, in milliseconds. */
  retentionMs(): Record<Reason, number>;
  /** True on a removed node: nobody can see its mail any more, so none may expire unseen. */
  isSuspended?(): boolean;
  expire(queueId: string): Promise<boolean>;
  now: () => number;
}

export const createRetention = ({store, retentionMs, isSuspended = () => false, expire, now}: Needs): Retention => {
  const sweepReason = async (reason: Reason, onFailure: (error: unknown) => void): Promise<number> => {
    const before = new Date(now() - retentionMs()[reason]).toISOString();
    const due = await store.hold.listArrivedBefore(reason, before, batchSize);
    let expired = 0;
    for (const queueId of due) if (await expire(queueId).catch(onFailure)) expired += 1;
    // After a full batch there may be more. A batch in which every mail failed would be listed again forever.
    return due.length === batchSize && expired > 0 ? expired + (await sweepReason(reason, onFailure)) : expired;
  };

  return {
    async sweep() {
      if (isSuspended()) return 0;
      const failures: unknown[] = [];
      let expired = 0;
      for (const reason of reasons) expired += await sweepReason(reason, error => void failures.push(error));
      const endedBefore = new Date(now() - endedRowsMs).toISOString();
      while ((await store.transaction(async tx => tx.hold.forgetEnded(endedBefore, batchSize))) === batchSize);
      if (failures.length > 0) throw failures[0];
      return expired;
    },
  };
};
