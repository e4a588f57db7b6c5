// Retention of held mail: mail that has been held too long expires.
import {chunksOf} from '../../../shared/collections.ts';
import type {CommonStore, NodePresence} from '../common-store.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import {type RetentionMs, retentionMsOf} from '../domains/domain-retention.ts';
import type {Store} from '../ports.ts';
import type {ArrivalLimit, HeldGroupKey, HoldBackendName} from './stored-mail.ts';

/** How long the row of a mail is stored after its bytes are deleted. */
const endedRowsMs = 90 * 24 * 3600 * 1000;
const batchSize = 500;
/** A sweep ends after so many mails that could not be expired: the disk or the store is at fault. */
const maxFailed = 2000;

export interface Retention {
  /**
   * Expires every mail that has been held longer than the retention of its domain and reason, never earlier; returns how many. After a
   * failure the other mails are still tried; then the first failure is thrown.
   */
  sweep(): Promise<number>;
}

interface Needs {
  store: Store;
  /** Retention by reason, in milliseconds, of mail whose domain has none of its own. */
  retentionMs(): RetentionMs;
  domains: Pick<DomainDirectory, 'findById' | 'findByName'>;
  /** True on a removed node: nobody can see its mail any more, so none may expire unseen. */
  isSuspended?(): boolean;
  expire(queueId: string): Promise<boolean>;
  /** Only mail of this keeper; all mail when absent. */
  keeper?: HoldBackendName | undefined;
  now: () => number;
}

export const createRetention = (needs: Needs): Retention => {
  const {store, retentionMs, domains, isSuspended = () => false, expire, keeper, now} = needs;

  /** When mail of a group must have arrived to be expired now. Mail of a domain that was made again counts as that domain's, as with releases. */
  const limitOf = ({domain_id, domain, reason}: HeldGroupKey): ArrivalLimit => {
    const known = domains.findById(domain_id) ?? domains.findByName(domain);
    const before = new Date(now() - retentionMsOf(known, reason, retentionMs())).toISOString();
    return {domain_id, domain, reason, before};
  };

  return {
    async sweep() {
      if (isSuspended()) return 0;
      const failures: unknown[] = [];
      const failed = new Set<string>();
      let expired = 0;
      const tryExpire = async (queueId: string): Promise<void> => {
        const isExpired = await expire(queueId).catch((error: unknown) => void failures.push(error));
        if (isExpired) expired += 1;
        else failed.add(queueId);
      };
      // Only groups with mail: a cluster may have ten thousand domains, of which few hold mail at a time.
      for (const groups of chunksOf(await store.hold.counts())) {
        if (failed.size >= maxFailed) break;
        const limits = groups.map(limitOf);
        let due: string[];
        do {
          due = await store.hold.listArrivedBefore(limits, {limit: batchSize + failed.size, keeper});
          due = due.filter(queueId => !failed.has(queueId));
          for (const queueId of due) await tryExpire(queueId);
        } while (due.length >= batchSize && failed.size < maxFailed);
      }
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
