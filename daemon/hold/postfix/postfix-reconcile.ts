// Reconciliation of the index with Postfix's hold queue: mail that others hold, release or remove there appears or disappears
// here too.

import type {Store} from '../../services/ports.ts';
import type {PostfixMail} from '../../services/quarantine/stored-mail.ts';
import type {PostfixHolder} from './hold-mail.ts';
import type {PostfixPrograms} from './postfix-programs.ts';
import type {QueuedMail} from './postqueue.ts';
import {createSettlement, isSame} from './settlement.ts';

export interface PostfixReconciliation {
  /** Mails that were put on hold by hand, or by a rule of Postfix. */
  appeared: number;
  /** Mails that have left the hold queue by another hand, or that Postfix never kept. */
  gone: string[];
  /** Mails whose life had ended here and that are on hold again. */
  reopened: string[];
  /** How long postqueue took to list the queue, in milliseconds. */
  pollMs: number;
}

interface Needs {
  nodeId: string;
  store: Store;
  programs: Pick<PostfixPrograms, 'queue'>;
  holder: Pick<PostfixHolder, 'isArriving' | 'hasArrived'>;
  /** Whether an action on the mail is running. */
  isUnderWay(queueId: string): boolean;
  /** Adds mails without a judgement to the index; resolves with their number. */
  adopt(mails: QueuedMail[], signal: AbortSignal): Promise<number>;
  now: () => number;
}

/**
 * Each run lists the queue once. It rejects when the list is incomplete, as a partial list would make the other mails look
 * released. Writes that are left when `signal` aborts are done by the next run.
 */
export const createPostfixReconcile = (needs: Needs): ((signal: AbortSignal) => Promise<PostfixReconciliation>) => {
  const {store, programs, holder, adopt, now} = needs;
  const settle = createSettlement(needs);

  return async signal => {
    const startedAtMs = now();
    const startedAt = new Date(startedAtMs).toISOString();
    const missing = new Map((await store.postfix.list()).map(row => [row.queue_id, row]));
    // Read before the queue, as listing it may take longer than an arrival.
    const arriving = new Set([...missing.keys()].filter(holder.isArriving));
    const unindexed: QueuedMail[] = [];
    const present: [PostfixMail, QueuedMail][] = [];
    for await (const mail of programs.queue()) {
      const row = missing.get(mail.queueId);
      if (mail.queueName !== 'hold') continue;
      if (!row || !isSame(row, mail)) unindexed.push(mail);
      else {
        missing.delete(row.queue_id);
        if (row.queued_at === null || row.state !== 'held') present.push([row, mail]);
      }
    }
    const pollMs = now() - startedAtMs;
    await settle.present(present, signal);
    const gone = await settle.missing(
      [...missing.values()].filter(({queue_id}) => !arriving.has(queue_id)),
      signal,
    );

    const {reopened, unknown} = await settle.unindexed(unindexed, startedAt);
    return {appeared: await adopt(unknown, signal), gone, reopened, pollMs};
  };
};
