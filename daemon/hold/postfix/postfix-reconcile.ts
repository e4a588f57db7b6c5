// The index held against Postfix's hold queue: what others hold, release and remove there appears and disappears here too.

import type {NewAuditEntry} from '../../services/audit/stored-entry.ts';
import {chunksOf} from '../../services/chunks.ts';
import type {Store, StoreTransaction} from '../../services/ports.ts';
import {isHeld, type PostfixMail} from '../../services/quarantine/stored-mail.ts';
import {leftByHand} from '../hold-state.ts';
import type {PostfixHolder} from './hold-mail.ts';
import type {PostfixPrograms} from './postfix-programs.ts';
import type {QueuedMail} from './postqueue.ts';

export interface PostfixReconciliation {
  /** Mails that were put on hold by hand, or by a rule of Postfix. */
  appeared: number;
  /** Mails that have left the hold queue by another hand, or that Postfix never kept. */
  gone: string[];
  /** Mails whose life had ended here and that are on hold again. */
  reopened: string[];
  /** How long Postfix took to say what is in its queue. */
  pollMs: number;
}

interface Needs {
  nodeId: string;
  store: Store;
  programs: Pick<PostfixPrograms, 'queue'>;
  keep: Pick<PostfixHolder, 'isArriving' | 'hasArrived'>;
  /** Whether somebody is acting on the mail. */
  isUnderWay(queueId: string): boolean;
  /** Takes mails into the index that nobody has judged here; resolves with how many it has taken. */
  adopt(mails: QueuedMail[], signal: AbortSignal): Promise<number>;
  now: () => number;
}

/**
 * Each run looks at the queue once. Rejects when Postfix does not say all that is in it: nothing is concluded from half a list.
 * What is left to write when `signal` says so is found again by the next run.
 */
export const createPostfixReconcile = (needs: Needs): ((signal: AbortSignal) => Promise<PostfixReconciliation>) => {
  const {nodeId, store, programs, keep, isUnderWay, adopt, now} = needs;

  const auditEntry = (queueId: string, entry: {action: string; keyId?: number | null; detail: string}): NewAuditEntry => ({
    at: new Date(now()).toISOString(),
    key_id: entry.keyId ?? null,
    action: `quarantine.${entry.action}`,
    target: `${nodeId}/${queueId}`,
    remote_address: null,
    result: 'ok',
    detail: entry.detail,
  });
  const write = async <T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T> => store.transaction(work);

  /** On hold according to the index, and not there; resolves with what there is to say of it. */
  const settleMissing = async (tx: StoreTransaction, {queue_id: queueId, state, acted_by_key_id: keyId}: PostfixMail) => {
    if (isUnderWay(queueId)) return undefined;
    const at = new Date(now()).toISOString();
    // Whoever had begun died between the act and writing it down.
    if (state === 'releasing' || state === 'discarding') {
      const ending = {state: state === 'releasing' ? 'released' : 'discarded', at, keyId} as const;
      const action = state === 'releasing' ? 'release' : 'discard';
      const entry = auditEntry(queueId, {action, keyId, detail: 'found done after a restart'});
      return (await tx.hold.end([queueId], state, ending)).size === 1 ? {entry, gone: []} : undefined;
    }
    const entry = auditEntry(queueId, {action: 'gone', detail: leftByHand});
    const ended = await tx.hold.end([queueId], 'held', {state: 'gone', at, keyId: null});
    return ended.size === 1 ? {entry, gone: [queueId]} : undefined;
  };

  /** Resolves with those that have left the queue by another hand. */
  const settleAllMissing = async (rows: PostfixMail[], signal: AbortSignal): Promise<string[]> => {
    const gone: string[] = [];
    for (const some of chunksOf(rows)) {
      if (signal.aborted) break;
      const settled = await write(async tx => {
        const all = [];
        for (const row of some) all.push((await settleMissing(tx, row)) ?? []);
        await tx.audit.append(...all.flat().map(({entry}) => entry));
        return all.flat();
      });
      gone.push(...settled.flatMap(mail => mail.gone));
    }
    return gone;
  };

  /** What the index does not say of them yet. */
  const settlePresent = async (present: [PostfixMail, QueuedMail][], signal: AbortSignal): Promise<void> => {
    for (const [row] of present) keep.hasArrived(row.queue_id);
    for (const some of chunksOf(present)) {
      if (signal.aborted) return;
      await write(async tx => {
        const settled = some.filter(([row]) => row.state === 'held' || !isUnderWay(row.queue_id));
        await tx.postfix.confirm(settled.filter(([row]) => row.queued_at === null).map(([, mail]) => mail));
        await tx.hold.unclaim(settled.filter(([row]) => row.state !== 'held').map(([row]) => row.queue_id));
      });
    }
  };

  /** Its life had ended; true when it is held again. */
  const settleEnded = async (row: PostfixMail, queued: QueuedMail): Promise<boolean> => {
    const {queue_id: queueId} = row;
    return write(async tx => {
      const mail = await tx.hold.find(queueId);
      if (!mail || mail.state !== row.state || !(await tx.hold.reopen(mail))) return false;
      if (row.queued_at === null) await tx.postfix.confirm([queued]);
      await tx.audit.append(
        auditEntry(queueId, {action: 'reopened', detail: `it was ${mail.state} and is on hold in Postfix again`}),
      );
      return true;
    });
  };

  /** Mails on hold that are not held according to the index; those that are not in it at all are returned. */
  const settleStrangers = async (mails: QueuedMail[], startedAt: string, reopened: string[]): Promise<QueuedMail[]> => {
    const ids = mails.map(({queueId}) => queueId);
    const known = new Map((await store.postfix.find(ids)).map(row => [row.queue_id, row]));
    const unknown: QueuedMail[] = [];
    for (const mail of mails) {
      const {queueId} = mail;
      const row = known.get(queueId);
      // Postfix without long queue ids gives an id again.
      if (row && !isSame(row, mail)) await write(async tx => tx.hold.forget(queueId));
      if (!row || !isSame(row, mail)) unknown.push(mail);
      // What was ended after the look at the queue had begun was there when it was looked at.
      else if (!isHeld(row) && !isUnderWay(queueId) && (row.acted_at ?? '') < startedAt && (await settleEnded(row, mail)))
        reopened.push(queueId);
    }
    return unknown;
  };

  return async signal => {
    const startedAtMs = now();
    const startedAt = new Date(startedAtMs).toISOString();
    const missing = new Map((await store.postfix.list()).map(row => [row.queue_id, row]));
    // As it is before the queue is looked at, which may take longer than an arrival.
    const arriving = new Set([...missing.keys()].filter(keep.isArriving));
    const strangers: QueuedMail[] = [];
    const present: [PostfixMail, QueuedMail][] = [];
    for await (const mail of programs.queue()) {
      const row = missing.get(mail.queueId);
      if (mail.queueName !== 'hold') continue;
      if (!row || !isSame(row, mail)) strangers.push(mail);
      else {
        missing.delete(row.queue_id);
        if (row.queued_at === null || row.state !== 'held') present.push([row, mail]);
      }
    }
    const pollMs = now() - startedAtMs;
    await settlePresent(present, signal);
    const gone = await settleAllMissing(
      [...missing.values()].filter(({queue_id}) => !arriving.has(queue_id)),
      signal,
    );

    const reopened: string[] = [];
    const unknown = await settleStrangers(strangers, startedAt, reopened);
    return {appeared: await adopt(unknown, signal), gone, reopened, pollMs};
  };
};

const isSame = ({queued_at}: PostfixMail, {queuedAt}: QueuedMail): boolean => queued_at === null || queued_at === queuedAt;
