// Settlement of differences between the index and Postfix's hold queue: mails that have left it, are in it, or are in it again.

import {chunksOf} from '../../../shared/collections.ts';
import type {Store, StoreTransaction} from '../../services/ports.ts';
import {isHeld, type PostfixMail} from '../../services/quarantine/stored-mail.ts';
import {endState, heldMailEntry, leftByHand} from '../hold-writes.ts';
import type {PostfixHolder} from './hold-mail.ts';
import type {QueuedMail} from './postqueue.ts';

interface Needs {
  nodeId: string;
  store: Store;
  holder: Pick<PostfixHolder, 'hasArrived'>;
  /** Whether an action on the mail is running. */
  isUnderWay(queueId: string): boolean;
  now: () => number;
}

export interface Settlement {
  /** Settles mails that the index holds and Postfix does not; resolves with those that left the queue outside of mfd. */
  missing(rows: PostfixMail[], signal: AbortSignal): Promise<string[]>;
  present(found: [PostfixMail, QueuedMail][], signal: AbortSignal): Promise<void>;
  /**
   * Settles mails on hold in Postfix that the index does not hold: `reopened` are held again, `unknown` are not in the index. A
   * mail that ended after `startedAt` may still have been there when the queue was read.
   */
  unindexed(mails: QueuedMail[], startedAt: string): Promise<{reopened: string[]; unknown: QueuedMail[]}>;
}

export const createSettlement = (needs: Needs): Settlement => {
  const missing = createMissing(needs);
  const unindexed = createUnindexed(needs);
  return {missing, present: createPresent(needs), unindexed};
};

const createMissing = ({nodeId, store, isUnderWay, now}: Needs): Settlement['missing'] => {
  /** Settles a mail that is on hold in the index but not in Postfix; resolves with its audit entry. */
  const settleOne = async (tx: StoreTransaction, {queue_id: queueId, state, acted_by_key_id: keyId}: PostfixMail) => {
    if (isUnderWay(queueId)) return undefined;
    const at = new Date(now()).toISOString();
    // The node died between the action and its record.
    if (state === 'releasing' || state === 'discarding') {
      const action = state === 'releasing' ? 'release' : 'discard';
      const entry = heldMailEntry(nodeId, queueId, {at, action, key_id: keyId, detail: 'found done after a restart'});
      const ended = await tx.hold.end([queueId], state, {state: endState[action], at, keyId});
      return ended.size === 1 ? {entry, gone: []} : undefined;
    }
    const entry = heldMailEntry(nodeId, queueId, {at, action: 'gone', detail: leftByHand});
    const ended = await tx.hold.end([queueId], 'held', {state: 'gone', at, keyId: null});
    return ended.size === 1 ? {entry, gone: [queueId]} : undefined;
  };

  return async (rows, signal) => {
    const gone: string[] = [];
    for (const some of chunksOf(rows)) {
      if (signal.aborted) break;
      const settled = await store.transaction(async tx => {
        const all = [];
        for (const row of some) all.push((await settleOne(tx, row)) ?? []);
        await tx.audit.append(...all.flat().map(({entry}) => entry));
        return all.flat();
      });
      gone.push(...settled.flatMap(mail => mail.gone));
    }
    return gone;
  };
};

/** Updates the rows of mails that are on hold in Postfix. */
const createPresent =
  ({store, holder, isUnderWay}: Needs): Settlement['present'] =>
  async (present, signal) => {
    for (const [row] of present) holder.hasArrived(row.queue_id);
    for (const some of chunksOf(present)) {
      if (signal.aborted) return;
      await store.transaction(async tx => {
        const settled = some.filter(([row]) => row.state === 'held' || !isUnderWay(row.queue_id));
        await tx.postfix.confirm(settled.filter(([row]) => row.queued_at === null).map(([, mail]) => mail));
        await tx.hold.unclaim(settled.filter(([row]) => row.state !== 'held').map(([row]) => row.queue_id));
      });
    }
  };

const createUnindexed = ({nodeId, store, isUnderWay, now}: Needs): Settlement['unindexed'] => {
  /** Reopens a mail whose row has ended; true if it is held again. */
  const settleEnded = async (row: PostfixMail, queued: QueuedMail): Promise<boolean> => {
    const {queue_id: queueId} = row;
    return store.transaction(async tx => {
      const mail = await tx.hold.find(queueId);
      const at = new Date(now()).toISOString();
      if (!mail || mail.state !== row.state || !(await tx.hold.reopen(mail, at))) return false;
      if (row.queued_at === null) await tx.postfix.confirm([queued]);
      const detail = `it was ${mail.state} and is on hold in Postfix again`;
      await tx.audit.append(heldMailEntry(nodeId, queueId, {at, action: 'reopened', detail}));
      return true;
    });
  };

  return async (mails, startedAt) => {
    const reopened: string[] = [];
    const ids = mails.map(({queueId}) => queueId);
    const known = new Map((await store.postfix.find(ids)).map(row => [row.queue_id, row]));
    const unknown: QueuedMail[] = [];
    for (const mail of mails) {
      const {queueId} = mail;
      const row = known.get(queueId);
      // Postfix without long queue ids reuses ids.
      if (row && !isSame(row, mail)) await store.transaction(async tx => tx.hold.forget(queueId));
      if (!row || !isSame(row, mail)) unknown.push(mail);
      // A mail that ended after the poll began may still have been in the queue.
      else if (!isHeld(row) && !isUnderWay(queueId) && (row.acted_at ?? '') < startedAt && (await settleEnded(row, mail)))
        reopened.push(queueId);
    }
    return {reopened, unknown};
  };
};

/** Postfix without long queue ids reuses ids. */
export const isSame = ({queued_at}: PostfixMail, {queuedAt}: QueuedMail): boolean => queued_at === null || queued_at === queuedAt;
