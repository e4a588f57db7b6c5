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
/** So many sweeps in a row are left out where a longer retention may have been missed: an hour, by default. Then the disk counts. */
const maxLeftOut = 6;
/** After so many failures no more mail of the groups that are swept together is tried: the disk or the store is at fault. */
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
  /** False while this node may not know the latest retention of the domains: other nodes, which it does not hear, may have changed it. */
  isUpToDate?(): boolean;
  expire(queueId: string): Promise<boolean>;
  /** Only mail of this keeper; all mail when absent. */
  keeper?: HoldBackendName | undefined;
  now: () => number;
}

export const createRetention = (needs: Needs): Retention => {
  const {store, isSuspended = () => false, isUpToDate = () => true, expire, keeper, now} = needs;
  let leftOut = 0;

  return {
    async sweep() {
      if (isSuspended()) return 0;
      leftOut = isUpToDate() ? 0 : leftOut + 1;
      // One is made after so many, and then the count begins again.
      if (leftOut > 0 && leftOut <= maxLeftOut) return 0;
      leftOut = 0;
      const failures = {count: 0, first: undefined as unknown};
      /** What was tried in vain, and is not tried again. */
      const left = new Set<string>();
      let expired = 0;
      const tryExpire = async (queueId: string): Promise<void> => {
        const isExpired = await expire(queueId).catch((error: unknown) => {
          failures.first ??= error;
          failures.count += 1;
        });
        if (isExpired) expired += 1;
        else left.add(queueId);
      };
      /** False when it gave up. */
      const sweepGroups = async (groups: readonly HeldGroupKey[]): Promise<boolean> => {
        const most = failures.count + maxFailed;
        let due: string[];
        do {
          // Asked again for each batch: where somebody has made the retention longer, the rest of the mail stays.
          due = await store.hold.listArrivedBefore(await limitsOf(needs, groups), {limit: batchSize + left.size, keeper});
          due = due.filter(queueId => !left.has(queueId));
          for (const queueId of due) await tryExpire(queueId);
        } while (due.length >= batchSize && failures.count < most);
        return failures.count < most;
      };
      // Only groups with mail: a cluster may have ten thousand domains, of which few hold mail at a time. The totals miss none, as each is
      // written in one transaction with the mail that it counts.
      for (const groups of chunksOf(await store.hold.counts())) {
        left.clear();
        // Each by itself where mail of one cannot be removed: that must keep none of the others.
        if (!(await sweepGroups(groups))) for (const group of groups) await sweepGroups([group]);
      }
      const endedBefore = new Date(now() - endedRowsMs).toISOString();
      while ((await store.transaction(async tx => tx.hold.forgetEnded(endedBefore, batchSize))) === batchSize);
      if (failures.count > 0) throw failures.first;
      return expired;
    },
  };
};

/** When mail of each group must have arrived to be expired now. Of a group without a limit nothing expires. */
const limitsOf = async (needs: Needs, groups: readonly HeldGroupKey[]): Promise<ArrivalLimit[]> => {
  const limits: ArrivalLimit[] = [];
  for (const group of groups) {
    const keptMs = await keptMsOf(needs, group);
    const {domain_id, domain, reason} = group;
    if (keptMs !== undefined) limits.push({domain_id, domain, reason, before: new Date(needs.now() - keptMs).toISOString()});
  }
  return limits;
};

/** Undefined where the record of the domain is missing without a deletion: it may come back and say that its mail is held for longer. */
const keptMsOf = async (
  {domains, store, retentionMs}: Needs,
  {domain_id, domain, reason}: HeldGroupKey,
): Promise<number | undefined> => {
  const known = domains.findById(domain_id);
  if (known) return retentionMsOf(known, reason, retentionMs());
  if (!(await store.config.isDeleted({kind: 'domain', id: domain_id}))) return undefined;
  // A domain that was made again may lengthen the time. Its administrators do not see this mail, and may not end it.
  return Math.max(retentionMs()[reason], retentionMsOf(domains.findByName(domain), reason, retentionMs()));
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
