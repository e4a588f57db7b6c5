// Retention of held mail: mail that has been held too long expires.
import {type Reason, reasons} from '../../../shared/reason.ts';
import type {CommonStore, NodePresence} from '../common-store.ts';
import type {Store} from '../ports.ts';
import type {HoldBackendName} from './stored-mail.ts';

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
  /** Only mail of this keeper; all mail when absent. */
  keeper?: HoldBackendName | undefined;
  now: () => number;
}

export const createRetention = ({store, retentionMs, isSuspended = () => false, expire, keeper, now}: Needs): Retention => {
  const sweepReason = async (reason: Reason, onFailure: (error: unknown) => void): Promise<number> => {
    const before = new Date(now() - retentionMs()[reason]).toISOString();
    const due = await store.hold.listArrivedBefore(reason, before, {limit: batchSize, keeper});
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

interface CommonNeeds extends Omit<Needs, 'store' | 'expire' | 'keeper'> {
  /** This node, for which `retentionMs` holds; for mail of another node, what that node last wrote. */
  nodeId: string;
  store: Pick<CommonStore, 'of' | 'presence'>;
  expire(nodeId: string, queueId: string): Promise<boolean>;
}

/** Sweeps the mail of all nodes, also of those that are gone. Two nodes that sweep at once are harmless: the claim decides. */
export const createCommonRetention = ({nodeId: ownId, store, retentionMs, expire, ...needs}: CommonNeeds): Retention => {
  const retentionFor = (nodeId: string, own: Pick<Needs, 'retentionMs' | 'keeper' | 'now'>): Retention =>
    createRetention({...needs, ...own, store: store.of(nodeId), expire: async queueId => expire(nodeId, queueId)});

  const retentionOf = ({node_id: nodeId, retention_ms, last_seen, ageSeconds}: NodePresence): Retention =>
    retentionFor(nodeId, {
      retentionMs: () => retention_ms,
      // Mail in the Postfix of another node is expired by that node.
      keeper: 'spool',
      // By the clock of the store: if this node's clock is ahead, the mail of the others must not expire early.
      now: () => Date.parse(last_seen) + ageSeconds * 1000,
    });

  return {
    async sweep() {
      const others = (await store.presence()).filter(({node_id}) => node_id !== ownId);
      const retentions = [retentionFor(ownId, {retentionMs, now: needs.now}), ...others.map(retentionOf)];
      const failures: unknown[] = [];
      const onFailure = (error: unknown): number => {
        failures.push(error);
        return 0;
      };
      let expired = 0;
      for (const retention of retentions) expired += await retention.sweep().catch(onFailure);
      if (failures.length > 0) throw failures[0];
      return expired;
    },
  };
};
